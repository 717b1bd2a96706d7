#include <algorithm>
#include <map>
#include <unordered_map>

#include "base/text/text.h"
#include "weights/judge/judge.h"
#include "weights/match/names.h"

namespace opdump::weights {
namespace {

using model::DType;

std::string list_rows(const std::vector<std::uint64_t>& rows, std::uint64_t count) {
  std::string text = inflect(count, "row ", "rows ");
  for (std::size_t i = 0; i < rows.size(); ++i)
    text += (i == 0 ? "" : i + 1 == count ? " and " : ", ") + std::to_string(rows[i]);
  if (count > rows.size()) text += ", ...";
  return text;
}

// The row of golden that is row `row` of actual.
std::optional<std::uint64_t> golden_row(const Arrangement& arrangement, std::uint64_t row) {
  for (const RowRun& run : arrangement.runs) {
    if (row < run.actual || (row - run.actual) % run.actual_step != 0) continue;
    const std::uint64_t at = (row - run.actual) / run.actual_step;
    if (at < run.count) return run.golden + at * run.golden_step;
  }
  return std::nullopt;
}

const std::vector<std::uint64_t>& rows_in(const WeightContent& content, bool swapped) {
  return swapped ? content.columns : content.rows;
}

// Rows that differ and are there in another order.
bool are_exchanged(Matching& matching, const LinkResult& result) {
  const WeightDistance& distance = result.distance;
  const Arrangement& way = result.link.arrangement;
  if (distance.differing_row_count != distance.differing_rows.size() || distance.differing_rows.size() < 2)
    return false;
  const DType rounding = matching.rounding_of(result.link.golden, result.link.actual);
  const WeightContent *g = matching.golden.content(result.link.golden, rounding),
                      *a = matching.actual.content(result.link.actual, rounding);
  if (g == nullptr || a == nullptr) return false;
  const auto &golden_rows = rows_in(*g, way.golden_swapped), &actual_rows = rows_in(*a, way.actual_swapped);
  std::vector<std::uint64_t> golden, actual;
  for (const std::uint64_t row : distance.differing_rows) {
    const auto from = golden_row(way, row);
    if (!from || *from >= golden_rows.size() || row >= actual_rows.size()) return false;
    golden.push_back(golden_rows[*from]);
    actual.push_back(actual_rows[row]);
  }
  std::ranges::sort(golden);
  std::ranges::sort(actual);
  return golden == actual;
}

// Returns whether that says all.
bool describe_rows(Matching& matching, LinkResult& result) {
  const WeightDistance& distance = result.distance;
  if (distance.rows < 2 || distance.differing_row_count == distance.rows) return false;
  const bool is_part = !result.link.actual_part.empty();
  const std::string rows = list_rows(distance.differing_rows, distance.differing_row_count);
  if (are_exchanged(matching, result)) {
    result.notes.push_back(
        rows + (distance.differing_rows.size() == 2 ? " are exchanged" : " are in another order"));
    return true;
  }
  if (distance.differing_row_count <= distance.differing_rows.size())
    result.notes.push_back("only " + rows + (is_part ? "" : " of " + std::to_string(distance.rows)) +
                           inflect(distance.differing_row_count, " differs", " differ"));
  else
    result.notes.push_back(std::to_string(distance.differing_row_count) + " of " +
                           std::to_string(distance.rows) + " rows differ");
  return false;
}

void describe_whole(LinkResult& result) {
  constexpr double kUnrelated = 0.2;
  constexpr std::uint64_t kEnough = 32;  // elements, to say that two tensors have nothing in common
  const WeightDistance& distance = result.distance;
  const bool is_constant = distance.actual_least == distance.actual_most;
  if (is_constant && distance.golden_least != distance.golden_most)
    result.notes.push_back("actual is " + format_g(distance.actual_most) +
                           " everywhere, as if it had never been loaded");
  if (!distance.relation.empty()) result.notes.push_back(distance.relation);
  if (distance.relation.empty() && !is_constant && distance.count >= kEnough &&
      std::abs(distance.cosine) < kUnrelated && distance.differing == distance.count)
    result.notes.push_back("nothing in common: as of another seed or another training (cosine " +
                           format_g(distance.cosine) + ")");
}

// By the elements, whatever their order.
std::unordered_map<std::uint64_t, std::size_t> index_contents(MatchSide& side) {
  std::unordered_map<std::uint64_t, std::size_t> index;
  side.prepare(side.all(), DType::undefined);
  for (const std::size_t i : side.all())
    if (const WeightContent* content = side.content(i, DType::undefined);
        content != nullptr && !content->is_simple)
      index.emplace(content->sum, i);
  return index;
}

}  // namespace

void describe_differences(Matching& matching) {
  std::vector<LinkResult*> different;
  for (LinkResult& result : matching.links)
    if (result.fault.empty() && !result.distance.is_equal && !result.is_excused) different.push_back(&result);
  if (different.empty()) return;
  // Other values under the name may be those of another parameter. Everything is read for it, so only while
  // few differ.
  constexpr std::size_t kFew = 100;
  std::unordered_map<std::uint64_t, std::size_t> golden_of;
  if (different.size() <= kFew) golden_of = index_contents(matching.golden);
  for (LinkResult* const result : different) {
    if (describe_rows(matching, *result)) continue;
    const WeightContent* const content =
        golden_of.empty() ? nullptr : matching.actual.content(result->link.actual, DType::undefined);
    const auto found = content == nullptr ? golden_of.end() : golden_of.find(content->sum);
    if (found != golden_of.end() && found->second != result->link.golden)
      result->notes.push_back("actual has the elements of golden's " + matching.golden[found->second].name);
    else
      describe_whole(*result);
  }
}

}  // namespace opdump::weights
