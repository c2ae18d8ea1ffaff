/** A broker that requires TLS and SCRAM. Its user alice, with the password `alice-secret`, may do everything, others nothing. */
import type { BrokerOptions } from './broker.ts';

/** @param of the broker's certificate and its key, as PEM. @param users who has the password `<name>-secret` */
export function secureBroker(
  of: { readonly cert: string; readonly key: string },
  users: readonly string[],
): BrokerOptions {
  const properties = {
    'ssl.keystore.type': 'PEM',
    'ssl.keystore.certificate.chain': of.cert.replaceAll('\n', ' '),
    'ssl.keystore.key': of.key.replaceAll('\n', ' '),
    'sasl.enabled.mechanisms': 'SCRAM-SHA-512',
    'listener.name.client.scram-sha-512.sasl.jaas.config':
      'org.apache.kafka.common.security.scram.ScramLoginModule required;',
    'authorizer.class.name': 'org.apache.kafka.metadata.authorizer.StandardAuthorizer',
    'super.users': 'User:ANONYMOUS;User:alice',
  };
  const format = users.flatMap((name) => ['--add-scram', `SCRAM-SHA-512=[name=${name},password=${name}-secret]`]);
  return { protocol: 'SASL_SSL', properties, format };
}
