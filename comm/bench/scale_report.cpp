#include "comm/bench/scale_report.hpp"

#include <cstdio>
#include <sstream>
#include <string_view>

#include "comm/simulator/formulas.hpp"

namespace fastgpu::comm {
namespace {

std::string number(const char* format, double value) {
  char text[32];
  std::snprintf(text, sizeof text, format, value);
  return text;
}

std::string milliseconds(Seconds time) {
  return number("%.3g", 1e3 * time.count());
}

std::string gigabytes_a_second(const ScaleTable& table, int ranks, Seconds time) {
  const double bytes = static_cast<double>(table.bytes);
  return number("%.2f", bus_bandwidth(ranks, bytes, time).bytes_per_second / 1e9);
}

void print_table(const ScaleTable& table, std::ostream& out) {
  out << "\n### " << number("%g", double(table.bytes) / 1024 / 1024) << " MiB, "
      << table.ranks_per_node << (table.ranks_per_node == 1 ? " rank" : " ranks")
      << " a node\n\n| ranks |";
  std::string rule = "\n| ---: |";
  for (const std::string& column : table.columns) {
    out << " " << column << " |";
    rule += " ---: |";
  }
  out << " the cost model picks |" << rule << " --- |\n";
  for (const ScaleRow& row : table.rows) {
    out << "| " << row.ranks << " |";
    for (const auto& time : row.times)
      out << " " << milliseconds(time) << " (" << gigabytes_a_second(table, row.ranks, time)
          << ") |";
    out << " " << row.chosen << " |\n";
  }
}

void print_negotiation(const std::vector<NegotiationRow>& rows, std::ostream& out) {
  out << "\n## Negotiation of 161 gradients, 8 ranks a node\n\n"
         "Ours: 24 bytes (a bit for each gradient, and verdicts) combined by recursive doubling.\n"
         "A coordinator: rank 0 receives 14,883 bytes from every rank and broadcasts 5,340 along "
         "a\n"
         "tree; the lengths were counted of Horovod without its cache at 2 to 8 ranks, all the "
         "rest\n"
         "is modelled. Horovod with all names cached has no coordinator: two vectors of 24 bytes "
         "are\n"
         "combined, here by recursive doubling as well. It does so in every cycle of 1 ms, ready "
         "or\n"
         "not; the table has one.\n\n"
         "| ranks | ours: ms | bytes into the busiest rank | coordinator: ms | bytes | all names "
         "cached: ms | bytes |\n"
         "| ---: | ---: | ---: | ---: | ---: | ---: | ---: |\n";
  for (const NegotiationRow& row : rows) {
    out << "| " << row.ranks << " |";
    for (const Forecast& forecast : {row.without_coordinator, row.coordinated, row.cached})
      out << " " << milliseconds(forecast.duration) << " | " << forecast.most_bytes_received
          << " |";
    out << "\n";
  }
}

class JsonResults {
 public:
  void add(const std::string& fields) {
    text_ += (text_.empty() ? "\n  {" : ",\n  {") + fields + "}";
  }

  std::string text() const {
    return "{\"schema\": \"fastgpu.comm-scale/1\", \"results\": [" + text_ + "\n]}\n";
  }

 private:
  std::string text_;
};

std::string fields(std::string_view library, std::string_view what, int ranks, Seconds time) {
  std::ostringstream out;
  out << "\"library\": \"" << library << "\", \"collective\": \"" << what
      << "\", \"ranks\": " << ranks << ", \"seconds\": " << time.count();
  return out.str();
}

void add_json(const ScaleTable& table, JsonResults& json) {
  for (const ScaleRow& row : table.rows)
    for (std::size_t column = 0; column < table.columns.size(); ++column) {
      const Seconds time = row.times[column];
      const double bytes = static_cast<double>(table.bytes);
      std::ostringstream more;
      more << ", \"bytes\": " << table.bytes
           << ", \"dtype\": \"float32\", \"ranks_per_node\": " << table.ranks_per_node
           << ", \"algorithm\": \"" << table.columns[column]
           << "\", \"algbw\": " << bytes / time.count()
           << ", \"busbw\": " << bus_bandwidth(row.ranks, bytes, time).bytes_per_second;
      const bool is_formula = table.columns[column].ends_with("formula");
      json.add(fields(is_formula ? "formula" : "simulated", "all_reduce", row.ranks, time) +
               more.str());
    }
}

void add_json(const NegotiationRow& row, JsonResults& json) {
  const auto add = [&](std::string_view library, const Forecast& forecast) {
    json.add(fields(library, "negotiation", row.ranks, forecast.duration) +
             ", \"most_bytes_received\": " + std::to_string(forecast.most_bytes_received));
  };
  add("simulated", row.without_coordinator);
  add("simulated coordinator", row.coordinated);
  add("simulated Horovod, names cached", row.cached);
}

void print_introduction(const ScaleReport& report, std::ostream& out) {
  const Network& network = report.network;
  out << "# Scale, simulated\n\n"
         "No figure here is measured. `comm_scale markdown` runs the same schedules as the "
         "library\n"
         "over a model of a network, whose figures are assumed: a latency of "
      << 1e6 * network.across.latency.count() << " us and "
      << network.across.shared.bytes_per_second * 8e-9 << " Gbit/s a node each way, "
      << network.across.flow.bytes_per_second * 8e-9 << " Gbit/s a flow, up to "
      << report.most_lanes << " lanes;\ninside a node " << 1e6 * network.inside.latency.count()
      << " us, " << network.inside.flow.bytes_per_second * 1e-9 << " GB/s a flow and "
      << network.inside.shared.bytes_per_second * 1e-9 << " GB/s together; "
      << 1e6 * network.per_message.count() << " us of processor a message, and "
      << network.reduce.bytes_per_second * 1e-9
      << " GB/s of reductions a rank.\n`comm/simulator/simulator.hpp` says how they contend.\n\n"
         "Each algorithm has the leaders, lanes and pieces (at most "
      << report.most_pieces
      << ") that the cost model gives it; the last\ncolumn says which one the cost model picks.\n\n"
         "NCCL's columns are closed forms on the same links, with as many flows as the link takes\n"
         "and reductions for nothing: what the algorithm allows, not what NCCL was seen to do.\n\n"
         "## All-reduce of float32\n\nMilliseconds, and bus bandwidth in GB/s in parentheses.\n";
}

}  // namespace

void print_markdown(const ScaleReport& report, std::ostream& out) {
  print_introduction(report, out);
  for (const ScaleTable& table : report.tables)
    print_table(table, out);
  print_negotiation(report.negotiation, out);
}

void print_json(const ScaleReport& report, std::ostream& out) {
  JsonResults json;
  for (const ScaleTable& table : report.tables)
    add_json(table, json);
  for (const NegotiationRow& row : report.negotiation)
    add_json(row, json);
  out << json.text();
}

}  // namespace fastgpu::comm
