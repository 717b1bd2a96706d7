#include "weights/match/matching.h"

#include <algorithm>
#include <numeric>

#include "base/worker_pool.h"
#include "weights/match/order.h"

namespace opdump::weights {
namespace {

using model::DType;

// The dimensions that are not 1.
std::vector<std::int64_t> without_ones(const model::Shape& shape) {
  std::vector<std::int64_t> dims;
  for (const std::int64_t dim : shape.dims())
    if (dim != 1) dims.push_back(dim);
  return dims;
}

bool is_transposed_shape(const MatrixShape& golden, const MatrixShape& actual) {
  return golden.blocks == actual.blocks && golden.rows == actual.columns && golden.columns == actual.rows;
}

Arrangement in_order(std::uint64_t rows) {
  Arrangement arrangement;
  arrangement.runs = {{0, 0, rows}};
  return arrangement;
}

// Every order of the axes of golden that gives the shape of actual.
std::vector<Arrangement> permutations(const model::Shape& golden, const model::Shape& actual) {
  std::vector<Arrangement> all;
  if (golden.rank() != actual.rank() || golden.rank() < 3 || golden.rank() > 5) return all;
  std::vector<std::size_t> axes(golden.rank());
  std::iota(axes.begin(), axes.end(), std::size_t{0});
  while (std::next_permutation(axes.begin(), axes.end())) {
    bool fits = true;
    for (std::size_t i = 0; i < axes.size(); ++i) fits = fits && golden[axes[i]] == actual[i];
    if (!fits) continue;
    Arrangement arrangement;
    arrangement.axes = axes;
    for (const std::size_t axis : axes)
      arrangement.order += (arrangement.order.empty() ? "" : " ") + std::to_string(axis);
    arrangement.order = "axes in the order " + arrangement.order;
    all.push_back(std::move(arrangement));
  }
  return all;
}

// What the shapes alone allow, the likeliest first.
std::vector<Arrangement> possible(const model::Shape& golden, const model::Shape& actual) {
  std::vector<Arrangement> all;
  const MatrixShape g = matrix_of(golden), a = matrix_of(actual);
  if (golden == actual) all.push_back(in_order(g.all_rows()));
  if (is_transposed_shape(g, a) && g.columns > 1 && g.rows > 1) {
    Arrangement swapped = in_order(a.all_rows());
    swapped.golden_swapped = true;
    all.push_back(std::move(swapped));
  }
  if (golden != actual && without_ones(golden) == without_ones(actual)) {
    Arrangement flat;
    flat.is_flat = true;
    all.push_back(std::move(flat));
  }
  std::ranges::move(permutations(golden, actual), std::back_inserter(all));
  if (all.empty() && g.count() == a.count()) {
    Arrangement flat;
    flat.is_flat = true;
    all.push_back(std::move(flat));
  }
  if (all.empty() && g.columns == a.columns && g.blocks == 1 && a.blocks == 1)
    all.push_back(in_order(std::min(g.rows, a.rows)));
  return all;
}

// An order of the rows, as they are or transposed, in which more of them agree.
std::optional<Arrangement> find_order(const WeightContent& golden, const WeightContent& actual) {
  if (golden.rows.empty() || actual.rows.empty()) return std::nullopt;
  std::optional<Arrangement> best;
  double share = 0;
  const auto consider = [&](const std::vector<std::uint64_t>& rows, bool swapped) {
    if (rows.size() != actual.rows.size()) return;
    RowOrder order = find_row_order(rows, actual.rows);
    if (order.share <= share || order.share < 0.5) return;
    share = order.share;
    best.emplace();
    best->golden_swapped = swapped;
    best->runs = std::move(order.runs);
    best->order = std::move(order.words);
  };
  if (golden.shape.columns == actual.shape.columns) consider(golden.rows, false);
  if (golden.shape.rows == actual.shape.columns && golden.shape.rows > 1) consider(golden.columns, true);
  return best;
}

}  // namespace

MatchSide::MatchSide(const Checkpoint& checkpoint, TensorOwner owner) : checkpoint_(&checkpoint) {
  for (std::size_t i = 0; i < checkpoint.tensors.size(); ++i) {
    const WeightTensor& tensor = checkpoint.tensors[i];
    if (tensor.owner != owner || !tensor.fault.empty()) continue;
    all_.push_back(i);
    names_.emplace(tensor.name, i);
  }
}

std::vector<std::size_t> MatchSide::free(bool with_unsure) const {
  std::vector<std::size_t> indexes;
  std::ranges::copy_if(all_, std::back_inserter(indexes),
                       [&](std::size_t i) { return is_free(i) && (with_unsure || (*this)[i].is_sure); });
  return indexes;
}

std::optional<std::size_t> MatchSide::find(const std::string& name) const {
  const auto found = names_.find(name);
  return found == names_.end() || !is_free(found->second) ? std::nullopt : std::optional(found->second);
}

void MatchSide::cover(std::size_t index, std::uint64_t rows, std::uint64_t all) {
  Cover& cover = covered_[index];
  cover.rows += rows;
  cover.all = all;
}

std::uint64_t MatchSide::uncovered(std::size_t index) const {
  const auto found = covered_.find(index);
  return found == covered_.end() || found->second.rows >= found->second.all
             ? 0
             : found->second.all - found->second.rows;
}

const WeightContent* MatchSide::content(std::size_t index, DType rounding) {
  prepare({index}, rounding);
  const std::optional<WeightContent>& content = contents_.at({index, rounding});
  return content ? &*content : nullptr;
}

void MatchSide::prepare(const std::vector<std::size_t>& indexes, DType rounding) {
  std::vector<std::pair<std::size_t, std::optional<WeightContent>*>> missing;
  for (const std::size_t index : indexes)
    if (auto [at, is_new] = contents_.try_emplace({index, rounding}); is_new)
      missing.emplace_back(index, &at->second);
  parallel_for(missing.size(), 0, [&](std::size_t i) {
    auto content = content_of((*this)[missing[i].first], rounding);
    if (content) *missing[i].second = std::move(*content);
  });
}

void Matching::add(LinkResult result) {
  const Arrangement& way = result.link.arrangement;
  std::uint64_t rows = 0;
  for (const RowRun& run : way.runs) rows += run.count;
  const auto all = [&](const WeightTensor& tensor, bool is_swapped) {
    const MatrixShape shape = matrix_of(tensor.shape());
    if (way.is_flat || !way.axes.empty()) return std::uint64_t{0};
    return (is_swapped ? shape.swapped() : shape).all_rows();
  };
  golden.cover(result.link.golden, rows, all(golden[result.link.golden], way.golden_swapped));
  actual.cover(result.link.actual, rows, all(actual[result.link.actual], way.actual_swapped));
  links.push_back(std::move(result));
}

DType Matching::rounding_of(std::size_t golden_index, std::size_t actual_index) {
  const WeightContent *g = golden.content(golden_index, DType::undefined),
                      *a = actual.content(actual_index, DType::undefined);
  if (g == nullptr || a == nullptr) return DType::undefined;
  const auto declared = [](const WeightTensor& tensor, DType precision) {
    const std::size_t bits = model::dtype_info(tensor.dtype()).bits;
    return model::is_floating(tensor.dtype()) && bits < 32 ? tensor.dtype() : precision;
  };
  const DType of_golden = declared(golden[golden_index], g->precision),
              of_actual = declared(actual[actual_index], a->precision);
  if (of_golden == of_actual) return DType::undefined;
  return model::dtype_info(of_golden).bits < model::dtype_info(of_actual).bits ? of_golden : of_actual;
}

LinkResult measure_pair(const Matching& matching, WeightLink link) {
  LinkResult result;
  auto distance = measure_link(matching.golden[link.golden], matching.actual[link.actual], link.arrangement);
  if (distance)
    result.distance = std::move(*distance);
  else
    result.fault = distance.error().message();
  result.link = std::move(link);
  return result;
}

bool can_pair(const WeightTensor& golden, const WeightTensor& actual) {
  return !possible(golden.shape(), actual.shape()).empty();
}

LinkResult arrange_pair(Matching& matching, std::size_t golden, std::size_t actual, FoundBy found_by) {
  const std::vector<Arrangement> all =
      possible(matching.golden[golden].shape(), matching.actual[actual].shape());
  WeightLink link{golden, actual, found_by, all.front(), {}, {}, 0};
  LinkResult first = measure_pair(matching, link);
  if (first.is_equal() || !first.fault.empty()) return first;
  for (std::size_t i = 1; i < all.size(); ++i) {
    link.arrangement = all[i];
    if (LinkResult other = measure_pair(matching, link); other.is_equal()) return other;
  }
  const MatrixShape g = matrix_of(matching.golden[golden].shape()),
                    a = matrix_of(matching.actual[actual].shape());
  if (g.count() != a.count() || all.front().is_flat) return first;
  const DType rounding = matching.rounding_of(golden, actual);
  const WeightContent* const of_golden = matching.golden.content(golden, rounding);
  const WeightContent* const of_actual = matching.actual.content(actual, rounding);
  if (of_golden == nullptr || of_actual == nullptr || of_golden->is_simple) return first;
  const auto better = find_order(*of_golden, *of_actual);
  if (!better) return first;
  link.arrangement = *better;
  LinkResult other = measure_pair(matching, link);
  return other.is_equal() || other.distance.differing < first.distance.differing ? other : first;
}

}  // namespace opdump::weights
