#include "msaccucmp/write/advisor.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "msaccucmp/log.h"

namespace opdump::msaccucmp {
namespace {

constexpr double kGoodCosine = 0.99;
constexpr std::string_view kCosine = "CosineSimilarity";

constexpr std::string_view kOverflowText =
    "Float16 data overflow occurs. Rectify the fault and perform comparison again.";
constexpr std::string_view kInputText =
    "The input data of NPUDump is inconsistent with that of GroundTruth. Use the same data or check the data "
    "preprocessing process.";
constexpr std::string_view kGoodText =
    "All data in the comparison result meets the accuracy requirements. If data accuracy of the model is "
    "still "
    "not up to standard in practical application, please check the post-processing process of model outputs.";
constexpr std::string_view kBadText =
    "The accuracy of some tensors is low, resulting in an unqualified final accuracy. This may be caused by "
    "quantization. Calibrate the data or contact Huawei for further diagnosis. ";
constexpr std::string_view kDeviationText =
    "The accuracy of some tensors is low, while the final accuracy is qualified. This may be caused by "
    "Ascend "
    "internal optimization. Ignore or contact Huawei for further diagnosis. ";

// What follows from the rows that have a cosine.
struct Cosines {
  bool is_any = false, is_last_good = false;
  std::optional<std::string> first_bad;    // the index of the row
  std::optional<std::string> first_input;  // of that of the first bad input node
};

class Advisor {
 public:
  Advisor(const Row& header, const ResultRows& rows, Log& log) : header_(header), rows_(rows), log_(log) {}

  Advice advise(const std::vector<std::string>& input_nodes) {
    if (auto advice = detect("FP16 Overflow", [&] { return find_overflow(); })) return *advice;
    if (!input_nodes.empty())
      if (auto advice = detect("Input Inconsistent", [&] { return find_input(input_nodes); })) return *advice;
    return detect("Global Consistency", [&] { return judge_network(); }).value_or(Advice{});
  }

 private:
  template <typename Find>
  std::optional<Advice> detect(const std::string& type, const Find& find) {
    type_ = type;
    log_.info("Start " + type + " detection.");
    const std::optional<Advice> advice = find();
    if (advice) log_.info("The " + type + " detection matches successfully.");
    log_.info("End " + type + " detection.");
    return advice;
  }

  Advice advice(const std::string& index, std::string_view text) const {
    return {type_, index, std::string(text)};
  }

  std::optional<std::size_t> column(std::string_view name) {
    const auto found = std::ranges::find(header_, name);
    if (found != header_.end()) return static_cast<std::size_t>(found - header_.begin());
    log_.warn("Input csv file does not contain " + std::string(name) + " columns, Skip " + type_ +
              " detection.");
    return std::nullopt;
  }

  std::optional<Advice> find_overflow() {
    const auto at = column("OverFlow");
    if (!at) return std::nullopt;
    for (std::size_t i = 0; i < rows_.size(); ++i)
      if (const Row row = rows_[i]; row[*at] == "YES") return advice(row[0], kOverflowText);
    log_.info("After analysis, input csv file does not have FP16 Overflow problem.");
    return std::nullopt;
  }

  Cosines cosines(const std::vector<std::string>& input_nodes) {
    Cosines found;
    const auto at = column(kCosine);
    if (!at) return found;
    const auto name = static_cast<std::size_t>(std::ranges::find(header_, "NPUDump") - header_.begin());
    std::unordered_map<std::string, std::size_t> nodes;
    for (const std::string& node : input_nodes) nodes.try_emplace(node, nodes.size());
    std::size_t first_node = SIZE_MAX;
    for (std::size_t i = 0; i < rows_.size(); ++i) {
      const Row row = rows_[i];
      const double value = std::strtod(row[*at].c_str(), nullptr);
      if (std::isnan(value)) continue;
      found.is_any = true;
      found.is_last_good = value >= kGoodCosine;
      if (found.is_last_good) continue;
      if (!found.first_bad) found.first_bad = row[0];
      const auto node = nodes.empty() ? nodes.end() : nodes.find(row[name]);
      if (node == nodes.end() || node->second >= first_node) continue;
      first_node = node->second;
      found.first_input = row[0];
    }
    if (!found.is_any)
      log_.warn("After analysis, input csv file " + std::string(kCosine) +
                " column, does not have valid value. May all values be NAN, please check.");
    return found;
  }

  std::optional<Advice> find_input(const std::vector<std::string>& input_nodes) {
    const Cosines found = cosines(input_nodes);
    if (!found.first_input) return std::nullopt;
    return advice(*found.first_input, kInputText);
  }

  std::optional<Advice> judge_network() {
    const Cosines found = cosines({});
    if (!found.is_any) return std::nullopt;
    if (!found.first_bad) return advice("NA", kGoodText);
    return advice(*found.first_bad, found.is_last_good ? kDeviationText : kBadText);
  }

  const Row& header_;
  const ResultRows& rows_;
  Log& log_;
  std::string type_;
};

}  // namespace

std::vector<std::string> Advice::lines() const {
  return {"Detection Type: " + type, "Operator Index: " + operator_index, "Expert Advice: " + text};
}

Advice advise(const Row& header, const ResultRows& rows, const std::vector<std::string>& input_nodes,
              Log& log) {
  return Advisor(header, rows, log).advise(input_nodes);
}

}  // namespace opdump::msaccucmp
