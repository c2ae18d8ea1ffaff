import { withProject } from '../support/project.ts';
const t=(s:string)=>console.log(s,(performance.now()/1000).toFixed(2));
await withProject({rows:2000}, async (p)=>{ t('up'); let r=await p.run('sync'); t('sync'); console.log(r); r=await p.run('--json','sync'); t('sync2'); console.log(r); console.log(p.sandbox.log);
 p.sandbox.misbehave({fault:{kind:'status',status:503}}); r=await p.run('check'); t('503');console.log(r);});t('done');
