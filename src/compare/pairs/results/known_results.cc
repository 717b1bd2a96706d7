#include "compare/pairs/results/known_results.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <optional>
#include <tuple>
#include <utility>

#include "base/worker_pool.h"
#include "dump/read/dump_set.h"
#include "math/stats/stats.h"

namespace opdump::compare {
namespace {

void find_same(ResultGraph& run, const ResultGraph& other, bool is_golden, unsigned threads) {
  parallel_for(run.nodes().size(), threads, [&](std::size_t i) {
    ResultNode& node = run.nodes()[i];
    node.is_known = !node.results.empty() && std::ranges::all_of(node.results, [&](const MadeTensor& made) {
      const PrintTolerance& tolerance = run.tolerance_of(static_cast<std::uint32_t>(i));
      return std::ranges::any_of(other.made().find(made.print, tolerance), [&](const MadeTensor* same) {
        return made.shape != same->shape ||
               (is_golden ? have_equal_elements(run.runs(), made, other.runs(), *same, tolerance)
                          : have_equal_elements(other.runs(), *same, run.runs(), made, tolerance));
      });
    });
    node.has_lost_state = std::ranges::any_of(
        node.state, [&](const MadeTensor& made) { return other.made().find(made.print, kLater).empty(); });
  });
}

// A tensor as rows along one of its axes. Row i has the elements of index i of that axis, wherever they are.
class Rows {
 public:
  Rows(const model::TensorView& tensor, std::size_t axis) {
    const auto count = static_cast<std::size_t>(tensor.shape[axis]);
    for (std::size_t i = 0; i < count; ++i) {
      model::TensorView row = tensor;
      row.data += static_cast<std::ptrdiff_t>(i) * tensor.strides[axis] *
                  static_cast<std::ptrdiff_t>(model::dtype_info(tensor.dtype).bits / 8);
      row.shape.dims()[axis] = 1;
      rows_.push_back(
          math::finish(math::partial_stats(row, {.extremes = true, .sum = true, .squares = true})));
      const double norm = rows_.back().l2norm;
      sums_.push_back(sums_.back() + rows_.back().avg * static_cast<double>(rows_.back().count));
      squares_.push_back(squares_.back() + norm * norm);
    }
  }

  std::uint64_t row_size() const { return rows_.empty() ? 0 : rows_.front().count; }
  std::size_t count() const { return rows_.size(); }
  double norm() const { return std::sqrt(squares_.back()); }

  // The first of the rows that `part` is, without those that are taken.
  std::optional<std::size_t> find(const TensorPrint& part, double tolerance,
                                  const std::vector<bool>& taken) const {
    const std::size_t length = part.exact.count / row_size();
    for (std::size_t first = 0; first + length <= rows_.size(); ++first) {
      const double norm = std::sqrt(std::max(0.0, squares_[first + length] - squares_[first]));
      if (std::abs(norm - part.norm) > tolerance * part.norm || taken[first]) continue;
      if (distance(print(first, length), part) <= tolerance) return first;
    }
    return std::nullopt;
  }

  // How much of the tensor is in rows that are not taken.
  double norm_without(const std::vector<bool>& taken) const {
    double squares = 0;
    for (std::size_t i = 0; i < rows_.size(); ++i)
      if (!taken[i]) squares += rows_[i].l2norm * rows_[i].l2norm;
    return std::sqrt(squares);
  }

 private:
  TensorPrint print(std::size_t first, std::size_t length) const {
    TensorPrint print{.least = rows_[first].min, .greatest = rows_[first].max};
    double squares = 0;
    for (std::size_t i = first; i < first + length; ++i) {
      print.exact.count += rows_[i].count;
      print.least = std::min(print.least, rows_[i].min);
      print.greatest = std::max(print.greatest, rows_[i].max);
      squares += rows_[i].l2norm * rows_[i].l2norm;
    }
    print.mean = (sums_[first + length] - sums_[first]) / static_cast<double>(print.exact.count);
    print.norm = std::sqrt(squares);
    return print;
  }

  std::vector<math::Statistics> rows_;
  std::vector<double> sums_{0}, squares_{0};
};

using Place = std::tuple<std::int64_t, StepPart>;

// What one program makes in several tensors, and the other one in one: only of what neither has otherwise.
class PartsOfResults {
 public:
  PartsOfResults(ResultGraph& run) : run_(run) {
    for (std::uint32_t i = 0; i < run.nodes().size(); ++i) {
      const ResultNode& node = run.nodes()[i];
      if (node.is_known || !node.is_telling || node.results.size() != 1) continue;
      if (node.results.front().print.is_distinctive()) unknown_[{run.step_of(i), node.part}].push_back(i);
    }
  }

  const std::map<Place, std::vector<std::uint32_t>>& unknown() const { return unknown_; }

  // Looks for parts of `whole` among what this run makes at `place`. Whether they are all of it.
  bool find(const ResultGraph& other, std::uint32_t whole, const Place& place) {
    const auto parts = unknown_.find(place);
    const MadeTensor& made = other.nodes()[whole].results.front();
    if (parts == unknown_.end() || !made.shape || made.shape->rank() > kMostAxes) return false;
    std::set<std::uint64_t> counts;
    for (const std::uint32_t part : parts->second) counts.insert(count_of(part));
    const auto fits = [&](std::uint64_t row) {
      return std::ranges::any_of(
          counts, [&](std::uint64_t count) { return count % row == 0 && count < made.print.exact.count; });
    };
    std::optional<dump::StoredTensor> tensor;
    for (std::size_t axis = 0; axis < made.shape->rank(); ++axis) {
      const std::int64_t count = (*made.shape)[axis];
      if (count < 2 || !fits(made.print.exact.count / static_cast<std::uint64_t>(count))) continue;
      if (!tensor) tensor = read_tensor(other.runs(), made);
      if (!tensor) return false;
      if (tensor->view().shape.rank() != made.shape->rank()) return false;
      if (take_parts(Rows(tensor->view(), axis), parts->second)) return true;
    }
    return false;
  }

 private:
  static constexpr std::size_t kMostAxes = 4;

  std::uint64_t count_of(std::uint32_t part) const {
    return run_.nodes()[part].results.front().print.exact.count;
  }

  // Whether the parts are the whole. Each part that is found is known from then on.
  bool take_parts(const Rows& rows, const std::vector<std::uint32_t>& parts) {
    std::vector<bool> taken(rows.count());
    for (const std::uint32_t part : parts) {
      const TensorPrint& print = run_.nodes()[part].results.front().print;
      if (print.exact.count % rows.row_size() != 0 || print.exact.count >= rows.row_size() * rows.count())
        continue;
      const auto first = rows.find(print, run_.tolerance_of(part).prints, taken);
      if (!first) continue;
      std::fill_n(taken.begin() + static_cast<std::ptrdiff_t>(*first), print.exact.count / rows.row_size(),
                  true);
      run_.nodes()[part].is_known = true;
    }
    return rows.norm_without(taken) <= kLater.prints * rows.norm();
  }

  ResultGraph& run_;
  std::map<Place, std::vector<std::uint32_t>> unknown_;
};

void find_wholes(ResultGraph& run, const PartsOfResults& wholes, PartsOfResults& parts) {
  for (const auto& [place, executions] : wholes.unknown())
    for (const std::uint32_t whole : executions) run.nodes()[whole].is_known |= parts.find(run, whole, place);
}

}  // namespace

void find_known_results(ResultGraph& golden, ResultGraph& actual, unsigned threads) {
  find_same(golden, actual, true, threads);
  find_same(actual, golden, false, threads);
  PartsOfResults of_golden(golden), of_actual(actual);
  find_wholes(golden, of_golden, of_actual);
  find_wholes(actual, of_actual, of_golden);
}

}  // namespace opdump::compare
