/** What certifies a destination, on two replicas; after each load both have to show the same rows. */
import { lackOfBed } from '../../support/bed/index.ts';
import { openLab } from '../../support/clickhouse/lab.ts';
import { describeWhere } from '../../support/installed.ts';
import { certifyClickHouse } from '../conformance/clickhouse-suite.ts';

describeWhere(lackOfBed('25.8', { zookeeper: true }), 'two replicas', () => {
  certifyClickHouse('a database of engine Atomic, ON CLUSTER', () => openLab(null, 'atomic'));
  certifyClickHouse('a database of engine Replicated', () => openLab(null, 'replicated'));
});
