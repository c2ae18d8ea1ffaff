import { openLab } from '../../support/clickhouse/lab.ts';
import { certifyClickHouse } from './clickhouse-suite.ts';

certifyClickHouse('clickhouse', openLab);
