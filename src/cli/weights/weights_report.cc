#include "cli/weights/weights_report.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <span>
#include <vector>

#include "base/text/json.h"
#include "base/text/text.h"
#include "compare/names.h"

namespace opdump::cli {
namespace {

using weights::TensorOwner;
using weights::WeightComparison;
using weights::WeightRow;
using weights::WeightVerdict;

constexpr int kWeightsSchemaVersion = 1;

std::string joined(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : "; ") + word;
  return text;
}

// "layers.0.attn.qkv.weight rows 0-63"
std::string side_text(const std::string& name, const std::string& part) {
  return compare::one_line(name) + (part.empty() ? "" : " " + part);
}

std::string names_text(const WeightRow& row) {
  if (row.actual.empty()) return side_text(row.golden, row.golden_part);
  if (row.golden.empty()) return side_text(row.actual, row.actual_part);
  const std::string golden = side_text(row.golden, row.golden_part),
                    actual = side_text(row.actual, row.actual_part);
  return golden == actual ? golden : golden + " = " + actual;
}

bool is_shown(const WeightRow& row, WeightsStyle style) {
  return style.all || (row.verdict != WeightVerdict::equal && row.verdict != WeightVerdict::equal_after &&
                       row.verdict != WeightVerdict::left_out);
}

std::string row_text(const WeightRow& row) {
  std::string text(weights::kWeightVerdictNames[static_cast<std::size_t>(row.verdict)]);
  text.resize(std::max<std::size_t>(text.size(), 13), ' ');
  text += "  " + names_text(row) + "\n";
  const auto add = [&](const std::string& line) { text += std::string(15, ' ') + line + "\n"; };
  if (row.distance)
    add("max abs " + format_g(row.distance->max_abs) + ", relative L2 " +
        format_g(row.distance->relative_l2) + ", " + std::to_string(row.distance->differing) + " of " +
        std::to_string(row.distance->count) + " elements");
  for (const std::string& note : row.notes) add(note);
  if (!row.after.empty())
    add((row.verdict == WeightVerdict::differs ? "compared after: " : "") + joined(row.after));
  if (row.found_by && *row.found_by > weights::FoundBy::value && row.verdict == WeightVerdict::differs)
    add("paired by " + std::string(weights::kFoundByNames[static_cast<std::size_t>(*row.found_by)]));
  return text;
}

// "8 merged, 12 cast float32 to bfloat16": what made them equal.
std::string changes_text(const WeightComparison& comparison, TensorOwner owner) {
  std::map<std::string, std::size_t> counts;
  for (const WeightRow& row : comparison.rows) {
    if (row.owner != owner || row.verdict != WeightVerdict::equal_after) continue;
    for (const std::string& change : row.after) {
      // Names and numbers differ: "padded: 47 rows of actual more" is "padded".
      std::string kind = change.substr(0, change.find_first_of(":(,"));
      if (kind.starts_with("tied to ")) kind = "tied";
      if (kind.find("folded into") != std::string::npos) kind = "folded";
      if (kind.starts_with("rows of heads")) kind = "in the other rotary order";
      while (kind.ends_with(' ')) kind.pop_back();
      ++counts[kind];
    }
  }
  std::string text;
  for (const auto& [kind, count] : counts)
    text += (text.empty() ? "" : ", ") + std::to_string(count) + " " + kind;
  return text;
}

std::string owner_text(const WeightComparison& comparison, TensorOwner owner) {
  std::map<WeightVerdict, std::size_t> counts;
  for (const WeightRow& row : comparison.rows)
    if (row.owner == owner) ++counts[row.verdict];
  std::string text;
  for (const auto& [verdict, count] : counts) {
    text += (text.empty() ? "" : ", ") + std::to_string(count) + " ";
    text += verdict == WeightVerdict::differs && count > 1
                ? "differ"
                : weights::kWeightVerdictNames[static_cast<std::size_t>(verdict)];
    if (verdict == WeightVerdict::equal_after) text += " (" + changes_text(comparison, owner) + ")";
  }
  return text;
}

nlohmann::ordered_json number_json(double number) {
  if (std::isfinite(number)) return number;
  return std::isnan(number) ? "NaN" : number > 0 ? "Infinity" : "-Infinity";
}

nlohmann::ordered_json row_json(const WeightRow& row) {
  nlohmann::ordered_json json;
  std::string verdict(weights::kWeightVerdictNames[static_cast<std::size_t>(row.verdict)]);
  std::ranges::replace(verdict, ' ', '_');
  json["verdict"] = verdict;
  json["owner"] = weights::kOwnerNames[static_cast<std::size_t>(row.owner)];
  const auto name = [](const std::string& text) {
    return text.empty() ? nlohmann::ordered_json() : nlohmann::ordered_json(text);
  };
  json["golden"] = name(row.golden);
  json["actual"] = name(row.actual);
  if (!row.golden_part.empty()) json["golden_part"] = row.golden_part;
  if (!row.actual_part.empty()) json["actual_part"] = row.actual_part;
  if (row.found_by) {
    std::string by(weights::kFoundByNames[static_cast<std::size_t>(*row.found_by)]);
    std::ranges::replace(by, ' ', '_');
    json["paired_by"] = by;
  }
  if (!row.after.empty()) json["after"] = row.after;
  if (!row.notes.empty()) json["notes"] = row.notes;
  if (!row.distance) return json;
  json["max_abs"] = number_json(row.distance->max_abs);
  json["relative_l2"] = number_json(row.distance->relative_l2);
  json["cosine"] = number_json(row.distance->cosine);
  json["differing"] = row.distance->differing;
  json["elements"] = row.distance->count;
  json["differing_rows"] = row.distance->differing_row_count;
  if (!row.distance->relation.empty()) json["relation"] = row.distance->relation;
  return json;
}

}  // namespace

std::string weights_text(const WeightComparison& comparison, WeightsStyle style) {
  std::string text;
  TensorOwner owner = TensorOwner::model;
  for (const WeightRow& row : comparison.rows) {
    if (!is_shown(row, style)) continue;
    if (row.owner != owner)
      text += std::string(weights::kOwnerNames[static_cast<std::size_t>(row.owner)]) + ":\n";
    owner = row.owner;
    text += row_text(row);
  }
  for (const std::string& remark : comparison.remarks) text += compare::one_line(remark) + "\n";
  for (std::size_t i = 0; i < weights::kOwnerCount; ++i) {
    const std::string counts = owner_text(comparison, static_cast<TensorOwner>(i));
    if (counts.empty()) continue;
    text += std::string(weights::kOwnerNames[i]) + ": " + counts + "\n";
  }
  return text;
}

std::string weights_json(const WeightComparison& comparison, const weights::Checkpoint& golden,
                         const weights::Checkpoint& actual, WeightsStyle style) {
  nlohmann::ordered_json json;
  json["schema_version"] = kWeightsSchemaVersion;
  json["golden"] = golden.path;
  json["actual"] = actual.path;
  json["golden_tensors"] = comparison.golden_count;
  json["actual_tensors"] = comparison.actual_count;
  json["is_complete"] = weights_exit(comparison) != Exit::incomplete;
  json["is_equal"] = weights_exit(comparison) == Exit::match;
  nlohmann::ordered_json counts = nlohmann::ordered_json::object();
  for (std::size_t i = 0; i < std::size(weights::kWeightVerdictNames); ++i) {
    std::string name(weights::kWeightVerdictNames[i]);
    std::ranges::replace(name, ' ', '_');
    counts[name] = comparison.count(static_cast<WeightVerdict>(i));
  }
  json["counts"] = std::move(counts);
  json["problems"] = comparison.problems;
  json["remarks"] = comparison.remarks;
  json["rows"] = nlohmann::ordered_json::array();
  for (const WeightRow& row : comparison.rows)
    if (is_shown(row, style)) json["rows"].push_back(row_json(row));
  return json_text(json) + "\n";
}

Exit weights_exit(const WeightComparison& comparison) {
  if (!comparison.problems.empty() || comparison.count(WeightVerdict::not_compared) > 0)
    return Exit::incomplete;
  return comparison.has_difference() ? Exit::mismatch : Exit::match;
}

}  // namespace opdump::cli
