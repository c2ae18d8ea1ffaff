/**
 * Values as JSON texts, on both sides of every clause of docs/contract.md, "Rows". A later file changes a value into its
 * neighbour: null beside 0, a value beside another spelling of it.
 */

/** The texts of a list: between them a bar with blanks, or a line end. */
export function texts(list: string): string[] {
  return list.trim().split(/ \| |\n\s*/);
}

const TEXT = [
  ...texts(String.raw`
  null | "plain" | "" | " spaced " | "\u0000" | "a\tb\nc\/" | "é" | "\u00e9" | "\ud83d\ude00" | "😀"
  "\ud800 alone" | "alone \udc00" | "\udc00\ud800" | 0 | -0 | 1e3 | -1E+2 | 0.1 | 1e21 | 1e-7 | 5e-324
  12345678901234567890 | 1.50 | 1e400 | true | false | [] | {} | ["a"] | {"a":1} | [null]
`),
  '"\\ufffe\\uffff\ufeff"',
  `"${'long '.repeat(14_000)}"`,
];

const STATUS = texts(`
  null | 0 | -0 | "0" | "-0" | 200 | "0200" | 200.0 | 2e2 | 20000e-2 | "200" | "2e2" | "200.0" | "+200" | ""
  200.5 | 65535 | "65535" | 65536 | "65536" | -1 | "99999999999999999999" | 1e400 | " 200" | "200 " | "２００"
  true | [200] | {} | "000000000000000000000000200"
`);

const FLOATS = [
  ...texts(`
  null | 0 | -0 | 0.0 | -0.0 | "0" | "-0" | 1 | "1" | "01" | "1.0" | 1.5 | "1.5" | "001.50" | "-1.5" | ".5"
  "5." | "1e5" | "1E+5" | 1e5 | "-1e-5" | "+1" | "" | " 1" | "1 " | "1e" | "1e+" | "--1" | "-" | 1e400
  -1e400 | "1e400" | "-1e400" | 1e-400 | -1e-400 | "1e-400" | "-1e-400" | 5e-324 | 3.3e-12
  1.7976931348623157e308 | "1.7976931348623159e308" | 123456789012345678901234567890 | 0.30000000000000004
  "NaN" | "Infinity" | "0x10" | "1_0" | "１" | true | [1] | {"a":1}
`),
  `"${'9'.repeat(400)}"`,
  `"0.${'0'.repeat(400)}1"`,
];

const BOOLS = texts(`
  null | "FALSE" | "TRUE" | "true" | "False" | true | false | "tRuE" | "" | "yes" | 1 | 0 | "TRUE " | "T"
  [true] | "1" | "ＴＲＵＥ"
`);

const DATES = texts(`
  null | "1970-01-01" | "2024-01-31" | "2024-01-31T00:00:00" | "2024-01-31 00:00:00Z"
  "2024-01-31T01:00:00+01:00" | "2024-01-31T10:20:30.1" | "2024-01-31T10:20:30.100000000"
  "2024-01-31T10:20:30.1239999" | "2024-01-31T10:20:30.123" | "2024-01-31T10:20:30.1234567890"
  "2024-01-31T10:20:30." | "2024-01-31T10:20" | "2024-01-31T10" | "2024-01-31T" | "2024-02-29" | "2023-02-29"
  "2000-02-29" | "1900-02-29" | "2100-02-29" | "2024-04-31" | "2024-13-01" | "2024-00-10" | "2024-01-00"
  "2024-01-32" | "2024-01-31T23:59:60" | "2024-01-31T24:00:00" | "2024-01-31T23:59:59Z"
  "2024-01-31T10:60:00" | "2024-01-31T10:20:30+0530" | "2024-01-31T10:20:30-05:30"
  "2024-01-31T10:20:30+23:59" | "2024-01-31T10:20:30+24:00" | "2024-01-31T10:20:30+10:60"
  "2024-01-31T10:20:30+05" | "2024-01-31T10:20:30 Z" | "2024-01-31T10:20:30z" | "2024-01-31t10:20:30"
  "2024-01-31T10:20:30-00:00" | "2024-01-31Z" | "2024-01-31+01:00" | "2024-1-31" | "20240131" | " 2024-01-31"
  "2024-01-31 " | "1900-01-01" | "1899-12-31" | "1900-01-01T00:00:00+00:01" | "1899-12-31T23:59:59.999-00:01"
  "1899-12-31T23:59:59-0001" | "2299-12-31" | "2300-01-01" | "2299-12-31T23:59:59.999999999"
  "2299-12-31T23:59:59-00:01" | "2300-01-01T00:00:00+00:01" | "1969-12-31T23:59:59.9999"
  "1969-12-31T23:59:59.0001" | "1900-01-01T00:00:00.0009" | "0000-01-01" | "-2024-01-31" | "" | 0
  1706659200 | true | ["2024-01-31"] | "2024-01-31T10:20:30,5" | "2024-01-31  10:20:30" | "２０２４-01-31"
  "2024/01/31"
`);

const TECHNOLOGIES = texts(String.raw`
  null | {} | [] | ["WordPress"] | {"WordPress":""} | {"WordPress":null} | {"WordPress":"6.1"}
  {"WordPress":6.1} | {"b":"1","a":"2","é":"3","\uff5e":"4","😀":"5","B":"6","":"7"}
  {"a":"2","b":"1","":"7","B":"6","é":"3","😀":"5","\uff5e":"4"} | {"a":1e3,"b":-0,"c":12345678901234567890}
  {"a":-1e400} | ["b","a","b"] | ["a",1] | ["a",null] | [["a"]] | "WordPress" | 1 | true | {"a":true}
  {"a":["1"]} | {"a":{"v":1}} | {"a":"1","a":2} | {"a":[],"a":"fits"} | {"__proto__":"1","constructor":"2"}
  ["__proto__","toString"] | {"10":"a","9":"b","1":"c"} | {"\ud800":"lone"} | ["\udfff"]
  {"a\u0000b":"\u0000"}
`);

const RECORDS = texts(String.raw`
  null | {} | {"A":null} | {"A":[]} | {"A":"192.0.2.1"} | {"A":["192.0.2.1"]}
  {"A":["192.0.2.1","192.0.2.2"]} | {"A":["192.0.2.2","192.0.2.1"]}
  {"MX":[{"host":"mx.example","priority":10}]} | {"MX":["10 mx.example"]}
  {"MX":{"priority":1e1,"host":"mx.example"}} | {"MX":{"host":"mx.example","priority":-0}}
  {"MX":[{"host":"mx.example","priority":"10"}]} | {"MX":[{"host":"m","priority":1,"ttl":5}]}
  {"MX":[{"host":null,"priority":1}]} | {"MX":[{"host":"m"}]} | {"MX":[{}]}
  {"mx":[{"host":"m","priority":1}]} | {"SRV":[{"host":"m","priority":1}]}
  {"TXT":["v=spf1 -all",null,1,true,{"a":[1, 2]},["x"]]} | {"TXT":1} | {"TXT":true} | {"TXT":{"a" : "b c"}}
  {"TXT":[[]]} | {"TXT":""} | {"TXT":[""]} | {"TXT":["\ud800","\"q\""]}
  {"NS":["b"],"A":["a"],"__proto__":["p"],"":[]} | {"A":["1"],"A":["2"]} | {"A":["1"],"A":null}
  {"MX":[{"host":"a","priority":1,"host":"b"}]} | [] | ["A"] | "A" | 1 | false | {"SOA":[1.50,"1.50"]}
  {"MX":[null]} | {"MX":null} | {"MX":[{"host":"m","priority":0.5}]} | {"MX":[{"host":"m","priority":1e400}]}
`);

const SOCIAL = texts(`
  null | {} | {"github":[]} | {"github":"https://github.example/a"} | {"github":["https://github.example/a"]}
  {"github":["b","a"]} | {"github":["a","b"]} | {"github":null} | {"github":["a",null]} | {"github":[1]}
  {"github":1} | {"github":{"a":"b"}} | {"github":[["a"]]} | {"b":"1","a":["2"],"__proto__":"3"}
  {"github":"ok","other":null} | {"github":null,"github":"ok"} | [] | ["a"] | "https://a" | true | {"":""}
`);

const RECORD = [
  ...texts(String.raw`
  null | {} | [] | "" | "text" | 0 | -0 | 1e400 | true | false | {"raw_response":"a\r\nb"}
  { "b" : [ 1 , { } ] , "a" : null } | {"a":1,"a":2} | {"__proto__":{"a":1}} | "\ud800" | {"\ud800":"\udc00"}
  {"a":"\u2028 \" \\ \/"} | [1.0,1e2,12345678901234567890]
`),
  `${'['.repeat(900)}${']'.repeat(900)}`,
  `${'{"a":'.repeat(900)}1${'}'.repeat(900)}`,
];

const UNKNOWN = texts(String.raw`
  null | 1 | "x" | [ 1, 2 ] | {"a" : {"b":null}} | true | "" | -0 | 1e400 | "\ud800" | {"k":1,"k":2}
`);

/** Source columns and the values to try in them. */
export const ODD_VALUES: Readonly<Record<string, readonly string[]>> = {
  'TLD suffix': TEXT,
  TLD: TEXT,
  'Domain type': TEXT,
  'HTTP status': STATUS,
  'IP address': TEXT,
  'Country by IP': TEXT,
  'Social networks': SOCIAL,
  'Technologies last data checked': DATES,
  Technologies: TECHNOLOGIES,
  'DNS last data checked': DATES,
  'DNS Status': BOOLS,
  'DNS records': RECORDS,
  'PR value': FLOATS,
  'Harmonic value': FLOATS,
  'RDAP/WHOIS last date checked': DATES,
  'RDAP/WHOIS method': TEXT,
  'Domain creation date': DATES,
  'Domain expiration date': DATES,
  'Domain last changed': DATES,
  Registrar: TEXT,
  'RDAP/WHOIS Record': RECORD,
  'Response Status RDAP/WHOIS': TEXT,
  // Not listed: another case, a column's own name, nothing, and names that objects have already.
  domain: UNKNOWN,
  http_status: UNKNOWN,
  unparsed: UNKNOWN,
  '': UNKNOWN,
  ['__proto__']: UNKNOWN,
  constructor: UNKNOWN,
  'Column of 2027': UNKNOWN,
};
