// Nodes of a Store.
#include "base/json.hpp"
#include "state/database.hpp"
#include "state/store.hpp"
#include "state/words.hpp"

namespace fastgpu::state {
namespace {

using nlohmann::json;

constexpr std::string_view kSelectNodes =
    "SELECT cluster, position, name, state, token, instance, address, port, private_address, user,"
    " slots, identity, host_keys, jumps FROM nodes WHERE cluster=? ORDER BY position";

/// Returns the value as text. Names and keys come from files of users, and may not be UTF-8.
std::string dump(const json& value) {
  return value.dump(-1, ' ', false, json::error_handler_t::replace);
}

std::string jumps_text(const std::vector<JumpHost>& jumps) {
  json list = json::array();
  for (const JumpHost& jump : jumps)
    list.push_back({{"address", jump.address},
                    {"port", jump.port},
                    {"user", jump.user},
                    {"host_keys", jump.host_keys}});
  return dump(list);
}

std::vector<JumpHost> jumps_of(const json& list) {
  std::vector<JumpHost> jumps;
  for (const json& jump : list)
    jumps.push_back({.address = field<std::string>(jump, "address"),
                     .port = field<std::uint16_t>(jump, "port"),
                     .user = field<std::string>(jump, "user"),
                     .host_keys = field<std::vector<std::string>>(jump, "host_keys")});
  return jumps;
}

void read_lists(Node& node, const std::string& host_keys, const std::string& jumps) try {
  node.host_keys = parse_json(host_keys, "the keys").get<std::vector<std::string>>();
  node.jumps = jumps_of(parse_json(jumps, "the jump hosts"));
} catch (const json::exception&) {
  refuse_value("keys or jump hosts of node", node.name.value);
} catch (const Error&) {
  refuse_value("keys or jump hosts of node", node.name.value);
}

Node node_of(const sqlite::Statement& row) {
  Node node{.cluster = {row.text(0)},
            .index = static_cast<int>(row.number(1)),
            .name = {row.text(2)},
            .state = parse_node_state(row.text(3)),
            .token = row.text(4),
            .instance_id = row.text(5),
            .address = row.text(6),
            .port = static_cast<std::uint16_t>(row.number(7)),
            .private_address = row.text(8),
            .user = row.text(9),
            .slots = static_cast<int>(row.number(10)),
            .identity_file = row.text(11)};
  read_lists(node, row.text(12), row.text(13));
  return node;
}

}  // namespace

std::vector<Node> Store::nodes(const ClusterId& cluster) const {
  std::vector<Node> nodes;
  sqlite::Statement rows = database_->query(kSelectNodes, cluster.value);
  while (rows.step())
    nodes.push_back(node_of(rows));
  return nodes;
}

void Store::put_node(const Node& n) {
  atomically([&] {
    // An older fastgpu numbers further nodes from next_node on.
    const int counted = database_->write(
        "store:put_node", "UPDATE clusters SET next_node=max(next_node, ?) WHERE id=?", n.index + 1,
        n.cluster.value);
    if (counted == 0)
      throw Error(ErrorKind::not_found, "the cluster of node '" + n.name.value + "' is gone");
    database_->write(
        "store:put_node:counted",
        "INSERT INTO nodes(cluster, position, name, state, token, instance, address, port,"
        " private_address, user, slots, identity, host_keys, jumps)"
        " VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
        " ON CONFLICT(cluster, position) DO UPDATE SET name=excluded.name, state=excluded.state,"
        " token=excluded.token, instance=excluded.instance, address=excluded.address,"
        " port=excluded.port, private_address=excluded.private_address, user=excluded.user,"
        " slots=excluded.slots, identity=excluded.identity, host_keys=excluded.host_keys,"
        " jumps=excluded.jumps",
        n.cluster.value, n.index, n.name.value, to_string(n.state), n.token, n.instance_id,
        n.address, n.port, n.private_address, n.user, n.slots, n.identity_file,
        dump(json(n.host_keys)), jumps_text(n.jumps));
    database_->note_run(n);
  });
}

void Store::erase_node(const ClusterId& cluster, int index) {
  atomically([&] {
    database_->write("store:erase_node", "DELETE FROM nodes WHERE cluster=? AND position=?",
                     cluster.value, index);
    database_->end_run(cluster, index);
  });
}

}  // namespace fastgpu::state
