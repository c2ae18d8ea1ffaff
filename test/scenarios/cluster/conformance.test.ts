/** What certifies a destination, on two replicas; after each load both have to show the same rows. */
import { describe } from 'vitest';
import { lackOfBed } from '../../support/bed/index.ts';
import { openLab } from '../../support/clickhouse/lab.ts';
import { describeWhere } from '../../support/installed.ts';
import { certifyClickHouse } from '../conformance/clickhouse-suite.ts';

describeWhere(lackOfBed('25.8', { zookeeper: true }), 'two replicas', () => {
  describe('a database of engine Atomic, ON CLUSTER', () => {
    certifyClickHouse('atomic', () => openLab(null, 'atomic'));
  });
  describe('a database of engine Replicated', () => {
    certifyClickHouse('replicated', () => openLab(null, 'replicated'));
  });
});
