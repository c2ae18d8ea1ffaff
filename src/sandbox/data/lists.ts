/** Source lists for the invented domains. Addresses are those reserved for documentation and benchmarks. */
import { spread } from './random.ts';

export interface Suffix {
  readonly suffix: string;
  readonly tld: string;
  readonly type: 'ICANN' | 'PRIVATE';
}

function weighted(text: string, type: Suffix['type']): (readonly [Suffix, number])[] {
  return text.split(' ').map((item) => {
    const [suffix = '', weight = '1'] = item.split(':');
    return [{ suffix, tld: suffix.slice(suffix.lastIndexOf('.') + 1), type }, Number(weight)] as const;
  });
}

const SUFFIX_WEIGHTS = [
  ...weighted(
    'com:1000 de:110 net:90 org:80 co.uk:60 nl:40 ru:40 com.br:30 cn:28 fr:28 eu:24 com.au:24 it:22 info:22 xyz:20 ' +
      'pl:18 shop:16 top:16 online:14 ca:14 ch:13 es:12 se:11 be:10 at:10 co.jp:9 jp:8 in:8 io:8 co.za:7 us:7 cz:6 ' +
      'dk:6 me:5 tv:4 biz:4 dev:4 app:4 org.uk:4 com.tr:3 com.mx:3 co.nz:3 com.cn:3 xn--p1ai:3 no:3 fi:3 gr:2 ' +
      'co.kr:2 com.ar:2 ac.uk:1 museum:1',
    'ICANN',
  ),
  ...weighted(
    'github.io:14 blogspot.com:10 myshopify.com:10 vercel.app:6 netlify.app:6 pages.dev:5 web.app:4 herokuapp.com:3',
    'PRIVATE',
  ),
];

/** Half are .com, with a long tail. */
export const SUFFIXES = spread(SUFFIX_WEIGHTS);

/** Countries by IP, with weights. */
export const COUNTRIES = spread(
  'US:400 DE:120 NL:50 GB:50 FR:45 JP:35 CN:35 RU:30 CA:28 BR:20 AU:18 IT:18 PL:15 SG:14 CH:12 ES:12 IE:12 SE:10 AT:9 IN:9 CZ:8 DK:8 FI:7 BE:7 TR:6 ZA:5 KR:5 HK:5 MX:4 NO:4 UA:4 NZ:3 GR:2 PT:2 IS:1'
    .split(' ')
    .map((item) => [item.slice(0, 2), Number(item.slice(3))] as const),
);

/** Technologies in display case, with the major version (0: never known). */
const TECHNOLOGY_LIST: readonly (readonly [string, number])[] = [
  ['WordPress', 6],
  ['PHP', 8],
  ['Nginx', 1],
  ['Apache HTTP Server', 2],
  ['jQuery', 3],
  ['Cloudflare', 0],
  ['Google Analytics', 0],
  ['MySQL', 0],
  ['Google Font API', 0],
  ['jQuery Migrate', 3],
  ['Bootstrap', 5],
  ['Google Tag Manager', 0],
  ['Elementor', 3],
  ['React', 18],
  ['WooCommerce', 9],
  ['Font Awesome', 6],
  ['HSTS', 0],
  ['Yoast SEO', 22],
  ['Shopify', 0],
  ['LiteSpeed', 0],
  ['reCAPTCHA', 0],
  ['Next.js', 14],
  ['Vue.js', 3],
  ['Microsoft ASP.NET', 4],
  ['IIS', 10],
  ['Wix', 0],
  ['Squarespace', 0],
  ['Joomla', 4],
  ['Drupal', 10],
  ['TYPO3 CMS', 12],
  ['Facebook Pixel', 2],
  ['Node.js', 20],
  ['Laravel', 11],
  ['Matomo Analytics', 5],
  ['Webpack', 0],
  ['Tailwind CSS', 3],
  ['Magento', 2],
  ['PrestaShop', 8],
  ['Webflow', 0],
  ['OpenResty', 1],
  ['Plesk', 18],
  ['Ruby on Rails', 7],
  ['Django', 5],
  ['Svelte', 4],
  ['Angular', 17],
  ['Hugo', 0],
  ['Ghost', 5],
  ['1C-Bitrix', 0],
  ['D3', 7],
  ['Contao', 5],
];

/** Power law: the n-th technology has a frequency proportional to 1/(n+2). */
export const TECHNOLOGIES = spread(TECHNOLOGY_LIST.map((entry, n) => [entry, 1000 / (n + 2)] as const));

export const REGISTRARS = spread<string>([
  ['Northgate Domains, LLC', 200],
  ['NameHarbor, Inc.', 150],
  ['Blue Fjord Registrar AB', 90],
  ['Hostwerk SE', 90],
  ['Registro Brasilero Ltda.', 40],
  ['Köln Hosting GmbH', 60],
  ['Société des Noms de Domaine SAS', 40],
  ['株式会社ドメイン管理', 30],
  ['Регистратор Доменов ООО', 30],
  ['Żuraw "Domeny" sp. z o.o.', 20],
  ['Publicité & Cie \\ Registrars', 8],
  ['ΔΟΜΗ Ονόματα Α.Ε.', 5],
  ['Domænehuset ApS', 15],
]);

/** Words that follow the unique part of a name. */
export const WORDS =
  'shop online web media group design studio consulting travel hotel law dental auto home garden sport news blog tech digital photo music art food wine energy finance school'.split(
    ' ',
  );

export const DNS_PROVIDERS = spread<string>([
  ['cloudedge.example', 300],
  ['namehub.example', 200],
  ['hostwerk.example', 90],
  ['domaincontrol.example', 200],
  ['awsdns.example', 80],
  ['parkzone.example', 60],
]);

export const MAIL_PROVIDERS = spread<string>([
  ['aspmx.mailsuite.example', 200],
  ['mail.protection.office.example', 180],
  ['mx.hostwerk.example', 80],
  ['mx.zmail.example', 50],
]);

/** Free texts for TXT records: other scripts, quotes, backslashes, a tab, an emoji. */
export const TXT_NOTES = [
  'Grüße aus München',
  '日本語テキスト',
  'Владелец: Иванов',
  'path=C:\\www\\site',
  '"quoted" value; with semicolon',
  'tab\there',
  'hello 👋 world',
  'naïve café – “smart quotes”',
] as const;

export const PLATFORMS = ['facebook', 'instagram', 'x-twitter', 'linkedin', 'youtube', 'whatsapp', 'tiktok'] as const;

const DISPLAY: Readonly<Record<'tld' | 'tld_suffix' | 'country' | 'technology', ReadonlyMap<string, string>>> = {
  tld: displayMap(SUFFIX_WEIGHTS.map(([entry]) => entry.tld)),
  tld_suffix: displayMap(SUFFIX_WEIGHTS.map(([entry]) => entry.suffix)),
  country: displayMap(COUNTRIES),
  technology: displayMap(TECHNOLOGY_LIST.map(([name]) => name)),
};

function displayMap(names: readonly string[]): ReadonlyMap<string, string> {
  return new Map(names.map((name) => [name.toLowerCase(), name]));
}

/** An entity of a scope in display case (`WordPress`, `DE`), or undefined when there is none of that name. */
export function displayEntity(scope: keyof typeof DISPLAY, key: string): string | undefined {
  return DISPLAY[scope].get(key.toLowerCase());
}
