/** Domains, and lines that are no rows, on both sides of every clause about them in docs/contract.md, "Rows". */
import { texts } from './odd-values.ts';

const LONG_LABELS = `${'a'.repeat(63)}.`.repeat(3);

/** Values of `Domain` as JSON texts; null: the member is missing. All but those that are rejected differ. */
export const ODD_DOMAINS: readonly (string | null)[] = [
  null,
  ...texts(String.raw`
  null | "" | " " | "." | " . " | 1 | true | ["a.example"] | {"a":1} | "\t" | "UPPER.Example"
  "  trimmed.example\t" | "dot.example." | " Both.Example. " | "two-dots.example.." | "\u0041scii.example"
  "İstanbul.example" | "ΣΊΣΥΦΟΣ" | "straße.example" | "münchen.example" | "xn--mnchen-3ya.example"
  "日本.example" | "😀.example" | "\ud800.example" | "no dot" | "in ner.example" | "a\u0000b.example"
  "a\u001fb.example" | "a\u007fb.example" | "a\u0080b.example" | "nbsp\u00a0in.example"
  "\u00a0nbsp-out.example\ufeff" | "sep\u2028in.example" | "zero\u200bwidth.example" | "tab\tin.example"
  "_dmarc.example" | "*.example" | "nodots" | "__proto__" | "a .example" | "space-dot.example ." | "-" | "0"
  "null" | "comma,quote'.example" | "back\\slash.example"
`),
  '"perc%ent`.example"',
  // 253 bytes are as many as a domain may have, after trimming and without the dot at its end.
  `"${LONG_LABELS}${'b'.repeat(61)}"`,
  `"${LONG_LABELS}${'b'.repeat(62)}"`,
  `"${LONG_LABELS}${'c'.repeat(61)}."`,
  `"   ${LONG_LABELS}${'d'.repeat(61)}   "`,
  `"${'é'.repeat(126)}"`,
  `"${'é'.repeat(127)}"`,
];

const OPEN = '{"Domain":"a.example","x":"';

/** Whole lines that are no JSON object, or hardly one. Bytes, since some are no text. */
export const ODD_LINES: readonly Buffer[] = [
  ...texts(String.raw`
  { | } | {"Domain":"cut.example" | {"Domain":"a.example"}} | {"Domain":"a.example"} x | {'Domain':'a'}
  {"Domain":"a.example",} | {Domain:"a.example"} | {"Domain":undefined}
  {"Domain":"a.example","PR value":01} | {"Domain":"a.example","PR value":.5}
  {"Domain":"a.example","PR value":1.} | {"Domain":"a.example","PR value":+1}
  {"Domain":"a.example","PR value":NaN} | {"Domain":"a\x.example"} | {"Domain":"a\u12"}
  {"Domain":"a.example" "x":1} | {"Domain":"a.example","x":[1,]} | {"Domain":"a.example","x":tru}
  // comment | {"Domain":"a.example"}// | NaN | x | " | {"a":1}{"b":2} | [] | ["Domain"]
  [{"Domain":"a.example"}] | "a.example" | 1 | -0 | null | true | {} | {"domain":"a.example"} | {"":1}
  1e400 | {"Domain":"a.example","Domain":null} | {"Domain":"a.example","Domain":"bad domain"}
  {"Domain":"-","x":1e} | {"Domain":"a.example","x":-}
`),
  // Blanks of JavaScript or of Unicode are none of JSON, and no tab stands in a string as it is.
  '\u00a0',
  '\u2028',
  '\v{"Domain":"a.example"}',
  '{"Domain":"a.example"}\f',
  '{"Domain":"a\tb.example"}',
  `not json, and longer than is kept: ${'x'.repeat(70_000)}`,
]
  .map((line) => Buffer.from(line))
  .concat([
    Buffer.from([0xff]),
    Buffer.concat([Buffer.from('{"Domain":"latin-'), Buffer.from([0xe9]), Buffer.from('.example"}')]),
    // Overlong, a surrogate, above U+10FFFF, cut short; and broken JSON after broken UTF-8: the first reason that holds.
    Buffer.concat([Buffer.from(OPEN), Buffer.from([0xc0, 0xaf]), Buffer.from('"}')]),
    Buffer.concat([Buffer.from(OPEN), Buffer.from([0xed, 0xa0, 0x80]), Buffer.from('"}')]),
    Buffer.concat([Buffer.from(OPEN), Buffer.from([0xf4, 0x90, 0x80, 0x80]), Buffer.from('"}')]),
    Buffer.concat([Buffer.from(OPEN), Buffer.from([0xe2, 0x82])]),
    Buffer.concat([Buffer.from('not json '), Buffer.from([0x80])]),
  ]);
