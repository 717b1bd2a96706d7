#include "weights/match/order.h"

#include <algorithm>
#include <functional>
#include <map>
#include <numeric>
#include <unordered_map>
#include <utility>

namespace opdump::weights {
namespace {

constexpr std::uint64_t kLeastHead = 4, kMostHead = 1024;  // rows
constexpr std::uint64_t kMostGroups = 256;
constexpr double kEnough = 0.5;  // of the rows, for an order to be believed

// Heads of so many rows, of which the first `rotated` are exchanged between pairs and halves.
struct RotaryHeads {
  std::uint64_t head = 0, rotated = 0;
  bool pairs_to_halves = false;

  // The row of golden that is row `row` of actual.
  std::uint64_t golden_of(std::uint64_t row) const {
    const std::uint64_t at = row % head, half = rotated / 2;
    if (at >= rotated) return row;
    const std::uint64_t from =
        pairs_to_halves ? (at < half ? 2 * at : 2 * (at - half) + 1) : (at % 2 == 0 ? at / 2 : half + at / 2);
    return row - at + from;
  }
  std::string words() const {
    std::string text = "rows of heads of " + std::to_string(head) + " from ";
    text += pairs_to_halves ? "pairs to halves" : "halves to pairs";
    if (rotated != head) text += " in the first " + std::to_string(rotated);
    return text + " (rotary order)";
  }
};

// Every choice of heads for so many rows.
std::vector<RotaryHeads> possible_heads(std::uint64_t rows) {
  std::vector<RotaryHeads> all;
  for (std::uint64_t head = kLeastHead; head <= std::min(rows, kMostHead); ++head) {
    if (rows % head != 0 || head % 2 != 0) continue;
    for (std::uint64_t rotated = head; rotated >= kLeastHead && rotated * 4 >= head; rotated /= 2) {
      if (rotated % 2 != 0) break;
      for (const bool direction : {true, false}) all.push_back({head, rotated, direction});
    }
  }
  return all;
}

// Puts rows that correspond together into runs; `golden_of` gives the row of golden of each row of actual.
std::vector<RowRun> make_runs(std::uint64_t rows,
                              const std::function<std::uint64_t(std::uint64_t)>& golden_of,
                              const std::function<std::uint64_t(std::uint64_t)>& place_of) {
  std::vector<RowRun> runs;
  for (std::uint64_t row = 0; row < rows; ++row) {
    const std::uint64_t golden = golden_of(row), actual = place_of(row);
    if (!runs.empty()) {
      RowRun& last = runs.back();
      const std::uint64_t step = golden - (last.golden + (last.count - 1) * last.golden_step);
      const bool follows = actual == last.actual + last.count;
      if (follows && last.count == 1 && golden > last.golden) last.golden_step = step;
      if (follows && golden == last.golden + last.count * last.golden_step) {
        ++last.count;
        continue;
      }
    }
    runs.push_back({golden, actual, 1});
  }
  for (RowRun& run : runs)
    if (run.count == 1) run.golden_step = 1;
  return runs;
}

double share_of(std::uint64_t rows, std::uint64_t right) {
  return rows == 0 ? 0 : static_cast<double>(right) / static_cast<double>(rows);
}

// Where rows of a part lie in the whole: (row of the part, row of the whole), of rows that are there once.
using RowPairs = std::vector<std::pair<std::uint64_t, std::uint64_t>>;

RowPairs pair_rows(std::span<const std::uint64_t> part, std::span<const std::uint64_t> whole) {
  constexpr std::uint64_t kSeveral = UINT64_MAX;
  std::unordered_map<std::uint64_t, std::uint64_t> rows;
  for (std::uint64_t row = 0; row < part.size(); ++row)
    if (auto [at, is_new] = rows.emplace(part[row], row); !is_new) at->second = kSeveral;
  RowPairs pairs;
  for (std::uint64_t row = 0; row < whole.size(); ++row)
    if (const auto found = rows.find(whole[row]); found != rows.end() && found->second != kSeveral)
      pairs.emplace_back(found->second, row);
  return pairs;
}

// How many pairs agree with so many groups, and the offset within a group that most of them have.
std::pair<std::uint64_t, std::uint64_t> try_groups(const RowPairs& pairs, std::uint64_t groups,
                                                   std::uint64_t part_rows, std::uint64_t whole_rows,
                                                   const RotaryHeads* heads) {
  const std::uint64_t rows = part_rows / groups, stride = whole_rows / groups;
  std::vector<std::uint64_t> at_row;  // of the part in the order that it has in the whole
  if (heads != nullptr) {
    at_row.resize(part_rows);
    for (std::uint64_t row = 0; row < part_rows; ++row) at_row[heads->golden_of(row)] = row;
  }
  std::unordered_map<std::uint64_t, std::uint64_t> votes;
  std::pair<std::uint64_t, std::uint64_t> best{0, 0};
  for (const auto& [part_row, whole_row] : pairs) {
    const std::uint64_t row = heads != nullptr ? at_row[part_row] : part_row;
    const std::uint64_t in_whole = whole_row % stride, in_part = row % rows;
    if (row / rows != whole_row / stride || in_whole < in_part || in_whole - in_part + rows > stride)
      continue;
    const std::uint64_t offset = in_whole - in_part;
    if (const std::uint64_t count = ++votes[offset]; count > best.first) best = {count, offset};
  }
  return best;
}

}  // namespace

void exchange(std::vector<RowRun>& runs) {
  for (RowRun& run : runs) {
    std::swap(run.golden, run.actual);
    std::swap(run.golden_step, run.actual_step);
  }
}

RowOrder find_row_order(std::span<const std::uint64_t> golden, std::span<const std::uint64_t> actual) {
  const std::uint64_t rows = actual.size();
  std::uint64_t right = 0;
  for (std::uint64_t row = 0; row < rows; ++row) right += golden[row] == actual[row];
  RowOrder best{{{0, 0, rows}}, {}, share_of(rows, right)};
  if (best.share == 1) return best;
  for (const RotaryHeads& heads : possible_heads(rows)) {
    const auto most_wrong = static_cast<std::uint64_t>((1 - best.share) * static_cast<double>(rows));
    std::uint64_t wrong = 0;
    for (std::uint64_t row = 0; row < rows && wrong <= most_wrong; ++row)
      wrong += golden[heads.golden_of(row)] != actual[row];
    const double share = share_of(rows, rows - std::min(wrong, rows));
    if (wrong > most_wrong || share <= best.share || share < kEnough) continue;
    best = {make_runs(
                rows, [&](std::uint64_t row) { return heads.golden_of(row); },
                [](std::uint64_t row) { return row; }),
            heads.words(), share};
    if (share == 1) break;
  }
  return best;
}

PartPlace find_place(std::span<const std::uint64_t> part, std::span<const std::uint64_t> whole) {
  PartPlace best;
  const std::uint64_t rows = part.size();
  if (rows == 0 || whole.empty() || rows >= whole.size()) return best;
  const RowPairs pairs = pair_rows(part, whole);
  if (share_of(rows, pairs.size()) < kEnough) return best;
  const std::vector<RotaryHeads> heads = possible_heads(rows);
  const RotaryHeads* rotary = nullptr;
  const auto consider = [&](std::uint64_t groups, const RotaryHeads* with) {
    const auto [count, offset] = try_groups(pairs, groups, rows, whole.size(), with);
    if (share_of(rows, count) <= best.order.share || share_of(rows, count) < kEnough) return;
    best.order.share = share_of(rows, count);
    best.groups = groups;
    best.offset = offset;
    rotary = with;
  };
  const std::uint64_t common = std::gcd(rows, static_cast<std::uint64_t>(whole.size()));
  for (const bool rotates : {false, true})
    for (std::uint64_t groups = 1; groups <= std::min(common, kMostGroups) && best.order.share < 0.9;
         ++groups) {
      if (common % groups != 0) continue;
      if (!rotates) consider(groups, nullptr);
      for (std::size_t i = 0; rotates && i < heads.size(); ++i) consider(groups, &heads[i]);
    }
  if (best.order.share < kEnough) return {};
  best.rows = rows / best.groups;
  const std::uint64_t stride = whole.size() / best.groups;
  best.order.runs = make_runs(
      rows, [&](std::uint64_t row) { return rotary != nullptr ? rotary->golden_of(row) : row; },
      [&](std::uint64_t row) { return row / best.rows * stride + best.offset + row % best.rows; });
  if (rotary != nullptr) best.order.words = rotary->words();
  return best;
}

}  // namespace opdump::weights
