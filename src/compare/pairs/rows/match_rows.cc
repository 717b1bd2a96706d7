#include "compare/pairs/rows/match_rows.h"

#include <algorithm>
#include <limits>
#include <map>
#include <utility>

#include "compare/measure/tensor_layout.h"
#include "math/convert.h"
#include "math/element_hash.h"
#include "math/metrics/metrics.h"
#include "math/stats/stats.h"

namespace opdump::compare {
namespace {

constexpr std::int64_t kMostCompared = 4096;      // rows of golden times those of actual
constexpr std::int64_t kMostPositions = 1 << 22;  // of golden times those of actual
constexpr double kNear = 1e-3, kFarther = 10;     // relative L2 distance; of the second nearest

model::TensorView row_of(const model::TensorView& tensor, std::int64_t row) {
  std::vector<std::int64_t> first(tensor.shape.rank()),
      extent(tensor.shape.dims().begin(), tensor.shape.dims().end());
  first.front() = row;
  extent.front() = 1;
  return box_of(tensor, model::Shape(first), model::Shape(extent));
}

bool is_equal(const model::TensorView& golden, const model::TensorView& actual) {
  const auto metrics = math::compare_tensors(actual, golden, {});
  return metrics && metrics->mismatch_count == 0;
}

std::optional<RowMatch> match_nearly(const model::TensorView& golden, const model::TensorView& actual) {
  RowMatch match{.rows = {}, .is_exact = false};
  if (golden.shape[0] * actual.shape[0] > kMostCompared) return std::nullopt;
  for (std::int64_t a = 0; a < actual.shape[0]; ++a) {
    double nearest = std::numeric_limits<double>::infinity(), second = nearest;
    std::int64_t found = 0;
    for (std::int64_t g = 0; g < golden.shape[0]; ++g) {
      const auto metrics = math::compare_tensors(row_of(actual, a), row_of(golden, g), {});
      const double distance = metrics ? metrics->relative_l2 : second;
      if (distance < nearest) {
        second = std::exchange(nearest, distance);
        found = g;
      } else {
        second = std::min(second, distance);
      }
    }
    const bool is_taken =
        std::ranges::any_of(match.rows, [&](const auto& row) { return row.first == found; });
    if (nearest < kNear && second > kFarther * nearest && !is_taken) match.rows.emplace_back(found, a);
  }
  if (match.rows.empty()) return std::nullopt;
  std::ranges::sort(match.rows);
  return match;
}

// Whether positions of rows can be compared one by one.
bool have_cells(const model::TensorView& golden, const model::TensorView& actual) {
  return golden.shape.rank() > 1 && golden.shape.rank() == actual.shape.rank() && golden.is_contiguous() &&
         actual.is_contiguous() && golden.dtype == actual.dtype &&
         model::dtype_info(golden.dtype).bits % 8 == 0 &&
         golden.shape[0] * actual.shape[0] <= kMostCompared &&
         golden.shape[1] * actual.shape[1] <= kMostPositions;
}

// What is in each position of each row, as a hash.
struct Cells {
  std::int64_t rows = 0, positions = 0;
  std::vector<std::uint64_t> hashes = {};
  std::uint64_t at(std::int64_t row, std::int64_t position) const {
    return hashes[static_cast<std::size_t>(row * positions + position)];
  }
};

Cells cells_of(const model::TensorView& tensor) {
  Cells cells{.rows = tensor.shape[0], .positions = tensor.shape[1]};
  std::vector<std::int64_t> first(tensor.shape.rank()),
      extent(tensor.shape.dims().begin(), tensor.shape.dims().end());
  extent[0] = extent[1] = 1;
  for (first[0] = 0; first[0] < cells.rows; ++first[0])
    for (first[1] = 0; first[1] < cells.positions; ++first[1])
      cells.hashes.push_back(math::sum_of_hashes(box_of(tensor, model::Shape(first), model::Shape(extent))));
  return cells;
}

// The longest stretch of equal positions of two rows, of equally long ones that at `next`, else the last one.
AxisStretch longest_common(const Cells& golden, std::int64_t g, const Cells& actual, std::int64_t a,
                           std::optional<std::int64_t> next) {
  AxisStretch best;
  for (std::int64_t shift = 1 - actual.positions; shift < golden.positions; ++shift) {
    std::int64_t count = 0;
    for (std::int64_t i = std::max<std::int64_t>(0, shift);
         i < std::min(golden.positions, actual.positions + shift); ++i) {
      count = golden.at(g, i) == actual.at(a, i - shift) ? count + 1 : 0;
      const bool is_better = count > best.count || (count == best.count && best.golden != next);
      if (count > 0 && is_better)
        best = {.golden = i + 1 - count, .actual = i + 1 - count - shift, .count = count};
    }
  }
  return best;
}

// Whether positions from `first` on, up to `last`, are all `padding`.
bool is_all(const Cells& cells, std::int64_t row, std::int64_t first, std::int64_t last,
            std::uint64_t padding) {
  for (std::int64_t i = first; i < last; ++i)
    if (cells.at(row, i) != padding) return false;
  return true;
}

// Takes off what pads the row: what lies beyond the stretch in one run is one thing, and so is the end of the
// stretch beside it.
void take_off_padding(const Cells& cells, std::int64_t row, std::int64_t first, AxisStretch& common) {
  const std::int64_t end = first + common.count;
  if (first > 0) {
    const std::uint64_t padding = cells.at(row, 0);
    while (common.count > 0 && is_all(cells, row, 0, first, padding) && cells.at(row, first) == padding) {
      ++first;
      ++common.golden;
      ++common.actual;
      --common.count;
    }
  }
  if (end < cells.positions) {
    const std::uint64_t padding = cells.at(row, cells.positions - 1);
    while (common.count > 0 && is_all(cells, row, end, cells.positions, padding) &&
           cells.at(row, first + common.count - 1) == padding)
      --common.count;
  }
}

// What a row has beyond a stretch.
struct Beyond {
  std::vector<std::uint64_t> hashes = {};
  bool is_of(std::uint64_t padding) const {
    return std::ranges::all_of(hashes, [&](std::uint64_t hash) { return hash == padding; });
  }
};

Beyond beyond(const Cells& cells, std::int64_t row, std::int64_t first, std::int64_t count) {
  Beyond found;
  for (std::int64_t i = 0; i < cells.positions; ++i)
    if (i < first || i >= first + count) found.hashes.push_back(cells.at(row, i));
  return found;
}

// Whether the stretch is all of the shorter row but for what pads it, as the longer one is padded.
bool is_all_of_shorter(const Beyond& shorter, const Beyond& longer) {
  return shorter.hashes.empty() || (!longer.hashes.empty() && longer.is_of(longer.hashes.front()) &&
                                    shorter.is_of(longer.hashes.front()));
}

// Where the rows of `padded` are in the one row of `packed`, if `padding` pads them at one end; empty if they
// are not all there.
std::vector<AxisStretch> unpack(const Cells& padded, const Cells& packed, std::uint64_t padding,
                                bool at_end) {
  std::vector<AxisStretch> rows;
  std::int64_t next = 0;
  for (std::int64_t row = 0; row < padded.rows; ++row) {
    std::int64_t first = 0, last = padded.positions;
    while (at_end && last > 0 && padded.at(row, last - 1) == padding) --last;
    while (!at_end && first < last && padded.at(row, first) == padding) ++first;
    for (std::int64_t i = first; i < last; ++i, ++next)
      if (next == packed.positions || padded.at(row, i) != packed.at(0, next)) return {};
    rows.push_back({.golden = first, .actual = next - (last - first), .count = last - first});
  }
  return next == packed.positions ? rows : std::vector<AxisStretch>();
}

}  // namespace

std::vector<CellMatch> match_packed(const model::TensorView& golden, const model::TensorView& actual) {
  std::vector<CellMatch> found;
  if (!have_cells(golden, actual) || (golden.shape[0] == 1) == (actual.shape[0] == 1)) return found;
  const bool is_golden_packed = golden.shape[0] == 1;
  const Cells padded = cells_of(is_golden_packed ? actual : golden),
              packed = cells_of(is_golden_packed ? golden : actual);
  std::vector<AxisStretch> rows;
  for (const bool at_end : {true, false})
    for (std::int64_t row = 0; row < padded.rows && rows.empty(); ++row)
      rows = unpack(padded, packed, padded.at(row, at_end ? padded.positions - 1 : 0), at_end);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    CellMatch cell{.golden = static_cast<std::int64_t>(i), .actual = 0, .positions = rows[i]};
    if (is_golden_packed) {
      std::swap(cell.golden, cell.actual);
      std::swap(cell.positions.golden, cell.positions.actual);
    }
    if (cell.positions.count > 0) found.push_back(cell);
  }
  return found;
}

std::vector<CellMatch> match_cells(const model::TensorView& golden, const model::TensorView& actual,
                                   std::optional<std::int64_t> next) {
  std::vector<CellMatch> found;
  if (!have_cells(golden, actual)) return found;
  const Cells in_golden = cells_of(golden), in_actual = cells_of(actual);
  std::vector<bool> is_taken(static_cast<std::size_t>(in_golden.rows));
  for (std::int64_t a = 0; a < in_actual.rows; ++a) {
    CellMatch best;
    for (std::int64_t g = 0; g < in_golden.rows; ++g) {
      if (is_taken[static_cast<std::size_t>(g)]) continue;
      AxisStretch common = longest_common(in_golden, g, in_actual, a, next);
      take_off_padding(in_golden, g, common.golden, common);
      take_off_padding(in_actual, a, common.actual, common);
      const Beyond of_golden = beyond(in_golden, g, common.golden, common.count),
                   of_actual = beyond(in_actual, a, common.actual, common.count);
      const bool is_golden_shorter = in_golden.positions < in_actual.positions;
      const bool is_whole = is_golden_shorter ? is_all_of_shorter(of_golden, of_actual)
                                              : is_all_of_shorter(of_actual, of_golden);
      if (is_whole && common.count > best.positions.count)
        best = {.golden = g, .actual = a, .positions = common};
    }
    if (best.positions.count == 0) continue;
    is_taken[static_cast<std::size_t>(best.golden)] = true;
    found.push_back(best);
  }
  std::ranges::sort(found, {}, &CellMatch::golden);
  return found;
}

bool tells_rows_apart(const model::TensorView& golden, const model::TensorView& actual) {
  const model::TensorView& more = golden.shape[0] >= actual.shape[0] ? golden : actual;
  if (more.shape[0] < 2) return true;
  const std::uint64_t first = math::sum_of_hashes(row_of(more, 0));
  for (std::int64_t row = 1; row < more.shape[0]; ++row)
    if (math::sum_of_hashes(row_of(more, row)) != first) return true;
  return false;
}

bool tells_positions_apart(const std::vector<CellMatch>& cells, const model::TensorView& golden) {
  if (cells.empty()) return false;
  const Cells in_golden = cells_of(golden);
  return std::ranges::any_of(cells, [&](const CellMatch& cell) {
    const AxisStretch& at = cell.positions;
    return !is_all(in_golden, cell.golden, at.golden, at.golden + at.count,
                   in_golden.at(cell.golden, at.golden));
  });
}

bool counts_positions(const model::TensorView& tensor) {
  if (tensor.shape.rank() != 2 || !tensor.is_contiguous() || !math::has_statistics(tensor.dtype))
    return false;
  const std::int64_t positions = tensor.shape[1];
  for (std::int64_t i = 0; i < tensor.shape[0] * positions; ++i) {
    if (i % positions == 0) continue;
    const double step = math::element_as_double(tensor.dtype, tensor.data, i) -
                        math::element_as_double(tensor.dtype, tensor.data, i - 1);
    if (step != 0 && step != 1) return false;
  }
  return true;
}

bool agree(const SlotParts& parts, const model::TensorView& golden, const model::TensorView& actual) {
  return std::ranges::any_of(parts.plans, [&](const PartPlan& plan) {
    const model::TensorView g = split_axes(golden, plan.golden),
                            a = permute(split_axes(actual, plan.actual), plan.order);
    return std::ranges::all_of(plan.parts, [&](const TensorPart& part) {
      const auto metrics =
          math::compare_tensors(box_of(a, part.actual, part.extent), box_of(g, part.golden, part.extent), {});
      return metrics && metrics->relative_l2 < kNear;
    });
  });
}

std::vector<RowAxisMap::Block> join_cells(const std::vector<CellMatch>& cells) {
  std::vector<RowAxisMap::Block> blocks;
  for (const CellMatch& cell : cells) {
    if (!blocks.empty()) {
      AxisStretch& last = blocks.back().front();
      if (cell.golden == last.golden + last.count && cell.actual == last.actual + last.count &&
          cell.positions == blocks.back()[1]) {
        ++last.count;
        continue;
      }
    }
    blocks.push_back({{.golden = cell.golden, .actual = cell.actual, .count = 1}, cell.positions});
  }
  return blocks;
}

std::optional<RowMatch> match_rows(const model::TensorView& golden, const model::TensorView& actual) {
  const bool can_match = golden.shape.rank() > 0 && golden.shape.rank() == actual.shape.rank() &&
                         golden.is_contiguous() && actual.is_contiguous() &&
                         model::dtype_info(golden.dtype).bits % 8 == 0;
  if (!can_match) return std::nullopt;
  std::multimap<std::uint64_t, std::int64_t> open;  // rows of golden, by a hash of their elements
  const auto hash = [](const model::TensorView& row) { return math::sum_of_hashes(row); };
  for (std::int64_t g = 0; g < golden.shape[0]; ++g) open.emplace(hash(row_of(golden, g)), g);
  RowMatch match;
  for (std::int64_t a = 0; a < actual.shape[0]; ++a) {
    const model::TensorView row = row_of(actual, a);
    for (auto [at, last] = open.equal_range(hash(row)); at != last; ++at) {
      if (!is_equal(row_of(golden, at->second), row)) continue;
      match.rows.emplace_back(at->second, a);
      open.erase(at);
      break;
    }
  }
  if (match.rows.empty()) return match_nearly(golden, actual);
  std::ranges::sort(match.rows);
  return match;
}

std::vector<RowAxisMap::Block> join_rows(const std::vector<std::pair<std::int64_t, std::int64_t>>& rows) {
  std::vector<RowAxisMap::Block> blocks;
  for (const auto& [golden, actual] : rows) {
    if (!blocks.empty()) {
      AxisStretch& last = blocks.back().front();
      if (golden == last.golden + last.count && actual == last.actual + last.count) {
        ++last.count;
        continue;
      }
    }
    blocks.push_back({{.golden = golden, .actual = actual, .count = 1}});
  }
  return blocks;
}

}  // namespace opdump::compare
