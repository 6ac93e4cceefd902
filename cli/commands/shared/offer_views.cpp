#include "cli/commands/shared/offer_views.hpp"

#include <cstdio>

#include "provision/cloud/catalogue.hpp"

namespace fastgpu::cli {
namespace {

using provision::cloud::Market;
using provision::cloud::Offer;
using provision::cloud::RankedOffers;
using provision::cloud::Stock;

std::string stock_text(Stock stock) {
  switch (stock) {
    case Stock::none:
      return "none";
    case Stock::low:
      return "low";
    case Stock::enough:
      return "enough";
    case Stock::unknown:
      return "?";
  }
  return "?";
}

Json offer_json(const Offer& offer, const std::string& against) {
  Json object = to_json(offer.cloud, offer.type);
  object["cloud"] = offer.cloud;
  object["region"] = offer.site.region;
  object["zone"] = offer.site.zone;
  object["market"] = offer.market == Market::spot ? "spot" : "on-demand";
  object["stock"] = stock_text(offer.stock);
  put_price(object, offer.price_per_hour);
  object["compared"] = money_json(offer.compared);
  object["quota"] = offer.quota ? Json(*offer.quota) : Json();
  if (!against.empty()) object["unusable"] = against;
  return object;
}

void add_row(View& view, const Offer& offer, const std::string& against) {
  view.root["offers"].push_back(offer_json(offer, against));
  if (against.empty()) view.names.push_back(offer.site.zone + "/" + offer.type.name);
  view.table.rows.push_back(
      {offer.cloud, offer.site.zone, offer.type.name, gpus_text(offer.type),
       offer.type.rdma_interfaces > 0 ? "yes" : "-",
       provision::cloud::per_hour(offer.price_per_hour, offer.compared), stock_text(offer.stock),
       offer.quota ? std::to_string(*offer.quota) : "?", against.empty() ? "-" : against});
}

}  // namespace

std::string gpus_text(const provision::cloud::InstanceType& type) {
  if (type.gpus == 0) return "-";
  return std::to_string(type.gpus) + "x" + (type.gpu.empty() ? "GPU" : type.gpu) +
         (type.gpu_memory_gib > 0 ? "-" + std::to_string(type.gpu_memory_gib) + "G" : "");
}

std::string number_text(double number) {
  char text[32];
  std::snprintf(text, sizeof text, "%.10g", number);
  return text;
}

std::string rdma_text(std::string_view cloud, const provision::cloud::InstanceType& type) {
  if (type.rdma_interfaces == 0) return "-";
  const std::string_view fabric = provision::cloud::rdma_fabric(cloud, type);
  return std::to_string(type.rdma_interfaces) + "x" + std::string(fabric.empty() ? "RDMA" : fabric);
}

std::string rdma_speed_text(const provision::cloud::InstanceType& type) {
  if (type.rdma_interfaces == 0) return "-";
  return type.rdma_gbit > 0 ? number_text(type.rdma_gbit) + " Gbit/s" : "?";
}

Json to_json(std::string_view cloud, const provision::cloud::InstanceType& type) {
  const std::string_view fabric = provision::cloud::rdma_fabric(cloud, type);
  return {{"type", type.name},
          {"gpu", type.gpu},
          {"gpus", type.gpus},
          {"gpu_memory_gib", type.gpu_memory_gib},
          {"cores", type.cores},
          {"memory_gib", type.memory_gib},
          {"network_gbit", type.network_gbit},
          {"rdma_interfaces", type.rdma_interfaces},
          {"rdma_fabric", fabric.empty() ? Json() : Json(fabric)},
          {"rdma_gbit", type.rdma_gbit > 0 ? Json(type.rdma_gbit) : Json()},
          {"architecture", type.architecture}};
}

View view_of_offers(const RankedOffers& offers) {
  View view;
  view.root = document("offers");
  view.root["offers"] = Json::array();
  view.table.columns = {{"CLOUD"}, {"ZONE"},  {"TYPE"},
                        {"GPUS"},  {"RDMA"},  {"PRICE"},
                        {"STOCK"}, {"QUOTA"}, {"EXCLUDED BECAUSE"}};
  for (const Offer& offer : offers.usable)
    add_row(view, offer, "");
  for (const auto& [offer, against] : offers.unusable)
    add_row(view, offer, against);
  view.when_empty = "no cloud offers such machines";
  return view;
}

Json money_json(const std::optional<Money>& money) {
  if (!money) return nullptr;
  return {{"amount", money->amount}, {"currency", money->currency.text()}};
}

void put_price(Json& object, const std::optional<Money>& price) {
  object["price_per_hour"] = price ? Json(price->amount) : Json();
  object["currency"] = price ? Json(price->currency.text()) : Json();
}

std::string price_text(const std::optional<Money>& price, int machines) {
  return provision::cloud::per_hour(price ? std::optional(*price * machines) : price);
}

}  // namespace fastgpu::cli
