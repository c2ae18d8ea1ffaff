/** Column kinds (docs/contract.md, "Rows"), numbered only here: the host reads the numbers from the module (src/scan/kinds.ts). */
export const DOMAIN: u32 = 0;
export const TEXT: u32 = 1;
export const JSON_TEXT: u32 = 2;
export const UINT16: u32 = 3;
export const FLOAT64: u32 = 4;
export const BOOL: u32 = 5;
export const DATETIME: u32 = 6;
export const TECHNOLOGIES: u32 = 7;
export const DNS_RECORDS: u32 = 8;
export const SOCIAL_NETWORKS: u32 = 9;
export const UNPARSED: u32 = 10;
