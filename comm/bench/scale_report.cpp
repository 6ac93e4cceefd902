#include "comm/bench/scale_report.hpp"

#include <string_view>

#include "base/json.hpp"
#include "comm/simulator/formulas.hpp"

namespace fastgpu::comm {
namespace {

using Json = nlohmann::ordered_json;

Json link_json(const NetworkLink& link) {
  return {{"latency", link.latency.count()},
          {"flow", link.flow.bytes_per_second},
          {"shared", link.shared.bytes_per_second}};
}

Json network_json(const NetworkModel& network) {
  return {{"inside", link_json(network.inside)},
          {"across", link_json(network.across)},
          {"per_message", network.per_message.count()},
          {"reduce", network.reduce.bytes_per_second},
          {"copy", network.copy.bytes_per_second}};
}

void add(const ScaleTable& table, Json& choices, Json& results) {
  const auto bytes = static_cast<double>(table.bytes);
  for (const ScaleRow& row : table.rows) {
    choices.push_back({{"ranks", row.ranks},
                       {"ranks_per_node", table.ranks_per_node},
                       {"bytes", table.bytes},
                       {"plan", row.chosen}});
    for (std::size_t column = 0; column < table.columns.size(); ++column) {
      const Seconds time = row.times[column];
      const bool is_formula = table.columns[column].ends_with("formula");
      results.push_back({{"library", is_formula ? "formula" : "simulated"},
                         {"collective", "all_reduce"},
                         {"dtype", "float32"},
                         {"ranks", row.ranks},
                         {"bytes", table.bytes},
                         {"seconds", time.count()},
                         {"algbw", bytes / time.count()},
                         {"busbw", bus_bandwidth(row.ranks, bytes, time).bytes_per_second},
                         {"ranks_per_node", table.ranks_per_node},
                         {"algorithm", table.columns[column]}});
    }
  }
}

Json networks_json(const NetworksRow& row) {
  Json links = Json::array({link_json(row.network.across)});
  for (const NetworkLink& link : row.beside)
    links.push_back(link_json(link));
  Json results = Json::array();
  for (std::size_t i = 0; i < row.ranks.size(); ++i)
    results.push_back(
        {{"ranks", row.ranks[i]},
         {"seconds", row.times[i].count()},
         {"busbw", bus_bandwidth(row.ranks[i], static_cast<double>(row.bytes), row.times[i])
                       .bytes_per_second}});
  return {{"name", row.name},
          {"per_message", row.network.per_message.count()},
          {"links", std::move(links)},
          {"bytes", row.bytes},
          {"results", std::move(results)}};
}

Json exchange_json(const ExchangeRow& row) {
  Json results = Json::array();
  for (std::size_t i = 0; i < row.ranks.size(); ++i) {
    results.push_back({{"ranks", row.ranks[i]},
                       {"seconds", row.forecasts[i].duration.count()},
                       {"bytes_out", row.forecasts[i].bytes_out}});
    if (!row.steps_to_agree.empty()) results.back()["steps_to_agree"] = row.steps_to_agree[i];
  }
  return {{"name", row.name},
          {"network", row.network},
          {"link", link_json(row.link)},
          {"bytes", row.bytes},
          {"results", std::move(results)}};
}

void add(const NegotiationRow& row, Json& results) {
  const auto add_one = [&](std::string_view library, const Forecast& forecast) {
    results.push_back({{"library", library},
                       {"collective", "negotiation"},
                       {"ranks", row.ranks},
                       {"seconds", forecast.duration.count()},
                       {"most_bytes_received", forecast.most_bytes_received}});
  };
  add_one("simulated", row.without_coordinator);
  add_one("simulated coordinator", row.coordinated);
  add_one("simulated Horovod, names cached", row.cached);
}

}  // namespace

std::string to_json(const ScaleReport& report) {
  Json choices = Json::array();
  Json results = Json::array();
  for (const ScaleTable& table : report.tables)
    add(table, choices, results);
  for (const NegotiationRow& row : report.negotiation)
    add(row, results);
  Json networks = Json::array();
  for (const NetworksRow& row : report.networks)
    networks.push_back(networks_json(row));
  Json exchanges = Json::array();
  for (const ExchangeRow& row : report.exchanges)
    exchanges.push_back(exchange_json(row));
  return Json{{"schema", "fastgpu.comm-scale/1"}, {"network", network_json(report.network)},
              {"most_lanes", report.most_lanes},  {"most_pieces", report.most_pieces},
              {"choices", std::move(choices)},    {"results", std::move(results)},
              {"networks", std::move(networks)},  {"exchanges", std::move(exchanges)}}
      .dump(1);
}

}  // namespace fastgpu::comm
