#include "report/advisor.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <optional>
#include <string_view>
#include <utility>

namespace opdump::report {
namespace {

using compare::Journal;
using compare::PackedRow;
using compare::Row;

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

struct Cosine {
  const PackedRow* row = nullptr;
  double value = 0;
};

class Advisor {
 public:
  Advisor(const Row& header, const std::vector<PackedRow>& rows, Journal& journal)
      : header_(header), rows_(rows), journal_(journal) {}

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
    journal_.info("Start " + type + " detection.");
    const std::optional<Advice> advice = find();
    if (advice) journal_.info("The " + type + " detection matches successfully.");
    journal_.info("End " + type + " detection.");
    return advice;
  }

  Advice advice(const std::string& index, std::string_view text) const {
    return {type_, index, std::string(text)};
  }

  std::optional<std::size_t> column(std::string_view name) {
    const auto found = std::ranges::find(header_, name);
    if (found != header_.end()) return static_cast<std::size_t>(found - header_.begin());
    journal_.warn("Input csv file does not contain " + std::string(name) + " columns, Skip " + type_ +
                  " detection.");
    return std::nullopt;
  }

  std::optional<Advice> find_overflow() {
    const auto at = column("OverFlow");
    if (!at) return std::nullopt;
    for (const PackedRow& packed : rows_)
      if (const Row row = packed.cells(); row[*at] == "YES") return advice(row[0], kOverflowText);
    journal_.info("After analysis, input csv file does not have FP16 Overflow problem.");
    return std::nullopt;
  }

  // The rows that have a cosine.
  std::vector<Cosine> cosines() {
    std::vector<Cosine> found;
    const auto at = column(kCosine);
    if (!at) return found;
    for (const PackedRow& row : rows_)
      if (const double value = std::strtod(row.cells()[*at].c_str(), nullptr); !std::isnan(value))
        found.push_back({&row, value});
    if (found.empty())
      journal_.warn("After analysis, input csv file " + std::string(kCosine) +
                    " column, does not have valid value. May all values be NAN, please check.");
    return found;
  }

  std::optional<Advice> find_input(const std::vector<std::string>& input_nodes) {
    const auto name = static_cast<std::size_t>(std::ranges::find(header_, "NPUDump") - header_.begin());
    const std::vector<Cosine> rows = cosines();
    for (const std::string& node : input_nodes)
      for (const Cosine& each : rows)
        if (each.value < kGoodCosine && each.row->cells()[name] == node)
          return advice(each.row->cells()[0], kInputText);
    return std::nullopt;
  }

  std::optional<Advice> judge_network() {
    const std::vector<Cosine> rows = cosines();
    if (rows.empty()) return std::nullopt;
    const auto bad = std::ranges::find_if(rows, [](const Cosine& each) { return each.value < kGoodCosine; });
    if (bad == rows.end()) return advice("NA", kGoodText);
    return advice(bad->row->cells()[0], rows.back().value < kGoodCosine ? kBadText : kDeviationText);
  }

  const Row& header_;
  const std::vector<PackedRow>& rows_;
  Journal& journal_;
  std::string type_;
};

}  // namespace

std::vector<std::string> Advice::lines() const {
  return {"Detection Type: " + type, "Operator Index: " + operator_index, "Expert Advice: " + text};
}

Advice advise(const Row& header, const std::vector<PackedRow>& rows,
              const std::vector<std::string>& input_nodes, Journal& journal) {
  return Advisor(header, rows, journal).advise(input_nodes);
}

}  // namespace opdump::report
