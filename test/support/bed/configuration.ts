/** Configuration of the bed's servers, as ClickHouse and ZooKeeper read it. */

/** Ports of one ClickHouse server, on 127.0.0.1. */
export interface ServerPorts {
  readonly http: number;
  readonly tcp: number;
  readonly interserver: number;
}

/** A server's place in a cluster. */
export interface Member {
  readonly ports: ServerPorts;
  /** From 1. */
  readonly shard: number;
  /** `r1`, `r2`, ...; also the server's display name. */
  readonly name: string;
}

/** All servers, and the port of the ZooKeeper that they share. */
export interface Cluster {
  readonly zookeeperPort: number;
  readonly members: readonly Member[];
}

/** Who may sign in: `default`, without a password, from this machine alone. */
export const USERS_XML = `<clickhouse>
  <profiles><default/></profiles>
  <quotas><default/></quotas>
  <users>
    <default>
      <password></password>
      <networks><ip>127.0.0.1</ip><ip>::1</ip></networks>
      <profile>default</profile>
      <quota>default</quota>
      <access_management>1</access_management>
      <named_collection_control>1</named_collection_control>
    </default>
  </users>
</clickhouse>
`;

/**
 * config.xml of a server. Whatever lies in `config.d` and `users.d` beside it is merged into it and into its users.
 * @param cluster null: the server is alone
 */
export function serverXml(folder: string, self: Member, cluster: Cluster | null): string {
  const { http, tcp, interserver } = self.ports;
  return `<clickhouse>
  <logger><level>information</level><console>true</console></logger>
  <display_name>${self.name}</display_name>
  <listen_host>127.0.0.1</listen_host>
  <http_port>${http}</http_port>
  <tcp_port>${tcp}</tcp_port>
  <interserver_http_port>${interserver}</interserver_http_port>
  <interserver_http_host>127.0.0.1</interserver_http_host>
  <path>${folder}/data/</path>
  <tmp_path>${folder}/data/tmp/</tmp_path>
  <user_files_path>${folder}/data/user_files/</user_files_path>
  <format_schema_path>${folder}/data/format_schemas/</format_schema_path>
  <mark_cache_size>268435456</mark_cache_size>
  <max_server_memory_usage>3000000000</max_server_memory_usage>
  <user_directories>
    <users_xml><path>${folder}/users.xml</path></users_xml>
    <local_directory><path>${folder}/data/access/</path></local_directory>
  </user_directories>
  <default_profile>default</default_profile>
  <default_database>default</default_database>
  ${cluster === null ? '' : clusterXml(self, cluster)}
</clickhouse>
`;
}

/** Clusters `c` of all shards and `c1`, `c2`, ... of one each; macros {cluster}, {shard} and {replica}. */
function clusterXml(self: Member, { zookeeperPort, members }: Cluster): string {
  const shards = [...new Set(members.map(({ shard }) => shard))];
  const shardXml = (shard: number): string => {
    const replicas = members
      .filter((member) => member.shard === shard)
      .map(({ ports }) => `<replica><host>127.0.0.1</host><port>${ports.tcp}</port></replica>`);
    return `<shard><internal_replication>true</internal_replication>${replicas.join('')}</shard>`;
  };
  return `<zookeeper>
    <node><host>127.0.0.1</host><port>${zookeeperPort}</port></node>
    <session_timeout_ms>6000</session_timeout_ms>
  </zookeeper>
  <keeper_map_path_prefix>/keeper_map</keeper_map_path_prefix>
  <macros><cluster>c</cluster><shard>${self.shard}</shard><replica>${self.name}</replica></macros>
  <distributed_ddl><path>/clickhouse/task_queue/ddl</path></distributed_ddl>
  <remote_servers>
    <c>${shards.map(shardXml).join('')}</c>
    ${shards.map((shard) => `<c${shard}>${shardXml(shard)}</c${shard}>`).join('')}
  </remote_servers>`;
}

/** zoo.cfg of one ZooKeeper alone. */
export function zookeeperConfig(folder: string, port: number): string {
  return `tickTime=500
dataDir=${folder}/data
clientPortAddress=127.0.0.1
clientPort=${port}
admin.enableServer=false
maxClientCnxns=0
`;
}
