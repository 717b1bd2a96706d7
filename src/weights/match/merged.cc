#include <algorithm>
#include <map>
#include <unordered_map>

#include "weights/match/names.h"
#include "weights/match/order.h"
#include "weights/match/parts.h"
#include "weights/match/steps.h"

namespace opdump::weights {
namespace {

using model::DType;

constexpr std::uint64_t kSamples = 16;  // rows of a part that are looked for
constexpr std::size_t kMostParts = 4096;

const std::vector<std::uint64_t>& rows_of(const WeightContent& content, bool swapped) {
  return swapped ? content.columns : content.rows;
}

// Tensors whose rows may be a part of others, found by some of their rows.
class PartIndex {
 public:
  PartIndex(MatchSide& side, const std::vector<std::size_t>& tensors, DType rounding, bool swapped) {
    for (const std::size_t tensor : tensors) {
      const WeightContent* const content = side.content(tensor, rounding);
      if (content == nullptr || content->is_simple || side[tensor].shape().rank() < 2) continue;
      const auto& rows = rows_of(*content, swapped);
      const std::uint64_t step = std::max<std::uint64_t>(rows.size() / kSamples, 1);
      for (std::uint64_t row = 0; row < rows.size(); row += step) rows_[rows[row]].push_back(tensor);
    }
  }

  // Those of which several rows are in `whole`.
  std::vector<std::size_t> find(const std::vector<std::uint64_t>& whole) const {
    std::map<std::size_t, std::uint64_t> hits;
    for (const std::uint64_t row : whole)
      if (const auto found = rows_.find(row); found != rows_.end() && found->second.size() < kSamples)
        for (const std::size_t tensor : found->second) ++hits[tensor];
    std::vector<std::size_t> parts;
    for (const auto& [tensor, count] : hits)
      if (count >= 2 && parts.size() < kMostParts) parts.push_back(tensor);
    return parts;
  }

 private:
  std::unordered_map<std::uint64_t, std::vector<std::size_t>> rows_;
};

// Looks for the parts of tensors of one side among those of the other.
class MergeSearch {
 public:
  MergeSearch(Matching& matching, DType rounding, bool golden_is_whole)
      : matching_(matching), rounding_(rounding), golden_is_whole_(golden_is_whole) {}

  void run() {
    const std::vector<std::size_t> parts = part_side().free(), wholes = whole_side().free();
    part_side().prepare(parts, rounding_);
    whole_side().prepare(wholes, rounding_);
    for (const bool part_swapped : {false, true}) {
      const PartIndex index(part_side(), parts, rounding_, part_swapped);
      for (const bool whole_swapped : {false, true})
        for (const std::size_t whole : wholes)
          if (whole_side().is_free(whole)) try_whole(index, whole, part_swapped, whole_swapped);
    }
  }

 private:
  MatchSide& part_side() { return golden_is_whole_ ? matching_.actual : matching_.golden; }
  MatchSide& whole_side() { return golden_is_whole_ ? matching_.golden : matching_.actual; }

  void try_whole(const PartIndex& index, std::size_t whole, bool part_swapped, bool whole_swapped) {
    const WeightContent* const content = whole_side().content(whole, rounding_);
    if (content == nullptr || content->is_simple || whole_side()[whole].shape().rank() < 2) return;
    const auto& rows = rows_of(*content, whole_swapped);
    std::vector<PlacedPart> placed;
    for (const std::size_t part : index.find(rows)) {
      if (!part_side().is_free(part)) continue;
      PartPlace place = find_place(rows_of(*part_side().content(part, rounding_), part_swapped), rows);
      if (place.order.runs.empty()) continue;
      const bool overlaps = std::ranges::any_of(placed, [&](const PlacedPart& other) {
        return other.place.groups != place.groups || (place.offset < other.place.offset + other.place.rows &&
                                                      other.place.offset < place.offset + place.rows);
      });
      if (!overlaps) placed.push_back({part, std::move(place)});
    }
    if (placed.empty()) return;
    const PartSwaps swaps{part_swapped, whole_swapped};
    for (PlacedPart& part : placed)
      matching_.add(
          measure_part(matching_, part, whole, rows.size(), swaps, golden_is_whole_, FoundBy::value));
    fill_gap(placed, whole, rows.size(), swaps);
  }

  // One part has other values than its rows in the whole: it is the one beside the others that fits.
  void fill_gap(std::vector<PlacedPart>& placed, std::size_t whole, std::uint64_t rows, PartSwaps swaps) {
    std::ranges::sort(placed, {}, [](const PlacedPart& part) { return part.place.offset; });
    const std::uint64_t groups = placed.front().place.groups, stride = rows / groups;
    std::uint64_t begin = 0, end = stride;
    for (const PlacedPart& part : placed) {
      if (part.place.offset > begin) {
        end = part.place.offset;
        break;
      }
      begin = part.place.offset + part.place.rows;
    }
    if (begin >= end) return;
    const std::string_view beside = parent_of(parent_of(part_side()[placed.front().tensor].name));
    const model::Shape& first = part_side()[placed.front().tensor].shape();
    std::vector<std::size_t> fitting;
    for (const std::size_t i : part_side().free()) {
      const MatrixShape shape = matrix_of(part_side()[i].shape()), other = matrix_of(first);
      const MatrixShape in_place = swaps.part ? shape.swapped() : shape;
      if (parent_of(parent_of(part_side()[i].name)) == beside &&
          part_side()[i].shape().rank() == first.rank() && in_place.all_rows() == (end - begin) * groups &&
          in_place.columns == (swaps.part ? other.swapped() : other).columns)
        fitting.push_back(i);
    }
    if (fitting.size() != 1) return;
    PlacedPart part{fitting.front(), {}};
    part.place.groups = groups;
    part.place.offset = begin;
    part.place.rows = end - begin;
    for (std::uint64_t group = 0; group < groups; ++group)
      part.place.order.runs.push_back({group * part.place.rows, group * stride + begin, part.place.rows});
    matching_.add(measure_part(matching_, part, whole, rows, swaps, golden_is_whole_, FoundBy::rest));
  }

  Matching& matching_;
  DType rounding_;
  bool golden_is_whole_;
};

}  // namespace

LinkResult measure_part(const Matching& matching, const PlacedPart& part, std::size_t whole,
                        std::uint64_t rows, PartSwaps swaps, bool golden_is_whole, FoundBy found_by) {
  WeightLink link;
  link.golden = golden_is_whole ? whole : part.tensor;
  link.actual = golden_is_whole ? part.tensor : whole;
  link.found_by = found_by;
  link.first_row = part.place.offset;
  const std::uint64_t stride = rows / part.place.groups, last = part.place.offset + part.place.rows - 1;
  std::string text =
      (swaps.whole ? "columns " : "rows ") + std::to_string(part.place.offset) + "-" + std::to_string(last);
  if (part.place.groups > 1)
    text += " of each " + std::to_string(stride) + " (" + std::to_string(part.place.groups) + " groups)";
  (golden_is_whole ? link.golden_part : link.actual_part) = text;
  link.arrangement.runs = part.place.order.runs;
  link.arrangement.order = part.place.order.words;
  if (golden_is_whole) exchange(link.arrangement.runs);
  link.arrangement.golden_swapped = golden_is_whole ? swaps.whole : swaps.part;
  link.arrangement.actual_swapped = golden_is_whole ? swaps.part : swaps.whole;
  return measure_pair(matching, std::move(link));
}

void pair_merged(Matching& matching) {
  std::vector<DType> roundings{DType::undefined, DType::bfloat16, DType::float16};
  const auto has_type = [](const MatchSide& side, DType dtype) {
    return std::ranges::any_of(side.free(), [&](std::size_t i) { return side[i].dtype() == dtype; });
  };
  for (const DType narrow : {DType::float8_e4m3, DType::float8_e5m2})
    if (has_type(matching.golden, narrow) || has_type(matching.actual, narrow)) roundings.push_back(narrow);
  for (const DType rounding : roundings)
    for (const bool golden_is_whole : {false, true}) {
      if (matching.golden.free().empty() || matching.actual.free().empty()) return;
      MergeSearch(matching, rounding, golden_is_whole).run();
    }
}

}  // namespace opdump::weights
