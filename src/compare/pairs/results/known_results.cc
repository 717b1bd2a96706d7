#include "compare/pairs/results/known_results.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <map>
#include <numeric>
#include <optional>
#include <set>
#include <string>
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
    bool has_other_shape = false, is_found = false;
    node.is_known = !node.results.empty() && std::ranges::all_of(node.results, [&](const MadeTensor& made) {
      const PrintTolerance& tolerance = run.tolerance_of(static_cast<std::uint32_t>(i));
      return std::ranges::any_of(other.made().find(made.print, tolerance), [&](const MadeTensor* same) {
        is_found = true;
        has_other_shape |= made.shape != same->shape;
        return made.shape != same->shape ||
               (is_golden ? have_equal_elements(run.runs(), made, other.runs(), *same, tolerance)
                          : have_equal_elements(other.runs(), *same, run.runs(), made, tolerance));
      });
    });
    node.is_permuted = !node.is_known && is_found && !has_other_shape && node.is_telling;
    node.has_lost_state = std::ranges::any_of(
        node.state, [&](const MadeTensor& made) { return other.made().find(made.print, kLater).empty(); });
  });
}

// The first updates are made of gradients that differ by rounding, and so are what they change. Returns those
// that do not.
std::vector<std::uint32_t> find_other_updates(const ResultGraph& run, const ResultGraph& other) {
  constexpr double kOfChange = 1e-4, kOfState = 1e-6, kLittle = 0.3;
  struct Updates {
    std::size_t all = 0;
    std::vector<std::uint32_t> doubtful = {};
  };
  std::map<std::pair<std::string, std::string>, Updates> lines;  // by source and type
  std::optional<std::int64_t> first;
  for (std::uint32_t i = 0; i < run.nodes().size(); ++i) {
    const ResultNode& node = run.nodes()[i];
    if (node.part != StepPart::update || node.change >= kLittle || node.results.size() != 1) continue;
    if (!first) first = run.step_of(i);
    if (run.step_of(i) != *first) break;
    const TensorPrint& print = node.results.front().print;
    if (!print.is_distinctive()) continue;
    Updates& line = lines[{run.source_of(i), run.runs().without_slots(i).type}];
    ++line.all;
    const double tolerance = kOfChange * node.change + kOfState;
    const auto is_same = [&](const MadeTensor* same) { return distance(print, same->print) <= tolerance; };
    if (node.is_known && std::ranges::none_of(other.made().find(print, kLater), is_same))
      line.doubtful.push_back(i);
  }
  constexpr std::size_t kFewest = 2, kPart = 10;  // one tensor, or one of ten, may be rounding
  std::vector<std::uint32_t> found;
  for (const auto& [line, updates] : lines)
    if (updates.doubtful.size() >= kFewest && kPart * updates.doubtful.size() >= updates.all)
      found.insert(found.end(), updates.doubtful.begin(), updates.doubtful.end());
  return found;
}

void doubt_first_updates(ResultGraph& golden, ResultGraph& actual) {
  const auto in_golden = find_other_updates(golden, actual), in_actual = find_other_updates(actual, golden);
  if (in_golden.empty() || in_actual.empty()) return;
  for (const std::uint32_t i : in_golden) golden.nodes()[i].is_doubtful = true;
  for (const std::uint32_t i : in_actual) actual.nodes()[i].is_doubtful = true;
}

// A tensor in blocks along one of its axes: block i has the elements of indices i n to i n + n - 1 of that
// axis, wherever they are. What is left over at the end is a block as well.
class Blocks {
 public:
  Blocks(const model::TensorView& tensor, std::size_t axis, std::int64_t n) {
    const auto element = static_cast<std::ptrdiff_t>(model::dtype_info(tensor.dtype).bits / 8);
    for (std::int64_t i = 0; i < tensor.shape[axis]; i += n) {
      model::TensorView block = tensor;
      block.data += i * tensor.strides[axis] * element;
      block.shape.dims()[axis] = std::min(n, tensor.shape[axis] - i);
      blocks_.push_back(
          math::finish(math::partial_stats(block, {.extremes = true, .sum = true, .squares = true})));
    }
  }

  std::size_t count() const { return blocks_.size(); }

  // Of `length` blocks from `first` on.
  TensorPrint print(std::size_t first, std::size_t length) const {
    TensorPrint print{.least = blocks_[first].min, .greatest = blocks_[first].max};
    double sum = 0, squares = 0;
    for (const math::Statistics& block : std::span(blocks_).subspan(first, length)) {
      print.exact.count += block.count;
      print.least = std::min(print.least, block.min);
      print.greatest = std::max(print.greatest, block.max);
      sum += block.avg * static_cast<double>(block.count);
      squares += block.l2norm * block.l2norm;
    }
    print.mean = sum / static_cast<double>(print.exact.count);
    print.norm = std::sqrt(squares);
    return print;
  }

 private:
  std::vector<math::Statistics> blocks_;
};

using Place = std::tuple<std::int64_t, StepPart>;

// What one program makes in several tensors, and the other one in one: only of what neither has otherwise.
class PartsOfResults {
 public:
  // `joins_steps`: what one program makes in a step, the other one may make in several.
  PartsOfResults(ResultGraph& run, bool joins_steps) : run_(run) {
    for (std::uint32_t i = 0; i < run.nodes().size(); ++i) {
      const ResultNode& node = run.nodes()[i];
      if (node.is_known || !node.is_telling || node.results.size() != 1) continue;
      unknown_[{joins_steps ? 0 : run.step_of(i), node.part}].push_back(i);
    }
  }

  const std::map<Place, std::vector<std::uint32_t>>& unknown() const { return unknown_; }

  // Whether all that the other run makes of `whole` is found in it: the lines that make one part make no
  // others. Known after close().
  bool have_all_of(std::uint32_t whole) const {
    const auto found = parts_.find(whole);
    if (found == parts_.end() || found->second.empty()) return false;
    return std::ranges::none_of(
        found->second, [&](std::uint32_t part) { return with_unknown_.contains(run_.line_of(part)); });
  }

  // All parts have been looked for.
  void close() {
    for (std::uint32_t i = 0; i < run_.nodes().size(); ++i)
      if (const ResultNode& node = run_.nodes()[i]; !node.is_known && !node.results.empty())
        with_unknown_.insert(run_.line_of(i));
  }

  // Looks for parts of `whole` among what this run makes at `place`. Whether they are all of it.
  bool find(const ResultGraph& other, std::uint32_t whole, const Place& place) {
    const auto parts = unknown_.find(place);
    const MadeTensor& made = other.nodes()[whole].results.front();
    if (parts == unknown_.end() || !made.shape || made.shape->rank() > kMostAxes) return false;
    if (!made.print.is_distinctive()) return false;
    const std::optional<dump::StoredTensor> tensor = read_tensor(other.runs(), made);
    if (!tensor || tensor->view().shape.rank() != made.shape->rank()) return false;
    const std::vector<std::uint32_t>& candidates = parts->second;
    if (find_along_axes(tensor->view(), candidates, parts_[whole])) return true;
    // Rows of a batch that is padded.
    const std::int64_t rows = tensor->view().shape.rank() < 2 ? 0 : tensor->view().shape[0];
    for (std::int64_t row = 0; row < rows && rows <= kMostRows; ++row)
      find_along_axes(take_row(tensor->view(), row), candidates, parts_[whole]);
    return false;
  }

 private:
  static constexpr std::size_t kMostAxes = 4;
  static constexpr std::int64_t kMostBlocks = 4096, kMostRows = 64;

  static model::TensorView take_row(const model::TensorView& tensor, std::int64_t row) {
    model::TensorView view = tensor;
    view.data +=
        row * tensor.strides[0] * static_cast<std::int64_t>(model::dtype_info(tensor.dtype).bits / 8);
    view.shape = model::Shape(tensor.shape.dims().subspan(1));
    view.strides = model::Shape(tensor.strides.dims().subspan(1));
    return view;
  }

  // Looks for parts along each axis. Whether those along one of them are all of the tensor.
  bool find_along_axes(const model::TensorView& tensor, std::span<const std::uint32_t> candidates,
                       std::vector<std::uint32_t>& known) {
    const std::uint64_t count = model::element_count(tensor.shape).value_or(0);
    for (std::size_t axis = 0; axis < tensor.shape.rank(); ++axis) {
      // How much of the axis a part has, and the largest step in which all parts are whole.
      std::map<std::int64_t, std::multimap<double, std::uint32_t>> by_length;
      const std::int64_t size = tensor.shape[axis];
      const std::uint64_t row = size < 2 ? 0 : count / static_cast<std::uint64_t>(size);
      std::int64_t step = 0;
      for (const std::uint32_t part : candidates) {
        const TensorPrint& print = print_of_part(part);
        if (row == 0 || print.exact.count % row != 0 || print.exact.count >= count) continue;
        const auto length = static_cast<std::int64_t>(print.exact.count / row);
        by_length[length].emplace(print.norm, part);
        step = std::gcd(step, length);
      }
      if (step == 0) continue;
      if (size <= kMostBlocks) step = std::gcd(step, size);  // parts may end with the tensor
      if (size / step > kMostBlocks) continue;
      if (take_parts(Blocks(tensor, axis, step), step, by_length, known)) return true;
    }
    return false;
  }

  const TensorPrint& print_of_part(std::uint32_t part) const {
    return run_.nodes()[part].results.front().print;
  }

  // Whether the parts are the whole. Each part that is found is known from then on; parts of few elements, as
  // one number for each row of a batch, only if all are found.
  bool take_parts(const Blocks& blocks, std::int64_t step,
                  std::map<std::int64_t, std::multimap<double, std::uint32_t>>& by_length,
                  std::vector<std::uint32_t>& known) {
    std::vector<bool> taken(blocks.count());
    std::vector<std::uint32_t> found;
    for (auto& [rows, parts] : by_length) {
      const auto length = static_cast<std::size_t>(rows / step);
      for (std::size_t first = 0; first + length <= blocks.count() && !parts.empty(); ++first) {
        const TensorPrint print = blocks.print(first, length);
        const double width = kLater.prints * print.norm;
        for (auto part = parts.lower_bound(print.norm - width);
             !taken[first] && part != parts.end() && part->first <= print.norm + width; ++part) {
          if (distance(print, print_of_part(part->second)) > run_.tolerance_of(part->second).prints) continue;
          std::fill_n(taken.begin() + static_cast<std::ptrdiff_t>(first), length, true);
          found.push_back(part->second);
          parts.erase(part);
          break;
        }
      }
    }
    double left = 0;
    for (std::size_t i = 0; i < taken.size(); ++i)
      if (!taken[i]) left += blocks.print(i, 1).norm * blocks.print(i, 1).norm;
    const bool are_all = std::sqrt(left) <= kLater.prints * blocks.print(0, blocks.count()).norm;
    for (const std::uint32_t part : found) {
      if (!are_all && !print_of_part(part).is_distinctive()) continue;
      run_.nodes()[part].is_known = true;
      known.push_back(part);
    }
    return are_all;
  }

  ResultGraph& run_;
  std::map<Place, std::vector<std::uint32_t>> unknown_;
  std::map<std::uint32_t, std::vector<std::uint32_t>> parts_;   // that are found, by what they are parts of
  std::set<std::pair<std::string, std::string>> with_unknown_;  // lines
};

using Line = std::tuple<Place, std::string, std::string>;  // and source and type

// Numbers of which one program makes several where the other one makes their sum or their mean: losses of
// micro-batches, of examples, or of heads.
void find_sums(ResultGraph& run, ResultGraph& other) {
  const auto is_unknown_number = [](const ResultNode& node) {
    return !node.is_known && node.is_telling && node.results.size() == 1 &&
           node.results.front().print.exact.count == 1;
  };
  std::map<Line, std::vector<std::uint32_t>> terms;
  for (std::uint32_t i = 0; i < run.nodes().size(); ++i)
    if (is_unknown_number(run.nodes()[i]))
      terms[{{run.step_of(i), run.nodes()[i].part}, run.source_of(i), run.runs().without_slots(i).type}]
          .push_back(i);
  for (std::uint32_t i = 0; i < other.nodes().size(); ++i) {
    ResultNode& sum = other.nodes()[i];
    if (!is_unknown_number(sum)) continue;
    const double wanted = sum.results.front().print.mean;
    for (const auto& [line, executions] : terms) {
      if (executions.size() < 2 || std::get<Place>(line) != Place(other.step_of(i), sum.part)) continue;
      double total = 0;
      for (const std::uint32_t term : executions) total += run.nodes()[term].results.front().print.mean;
      const auto is_wanted = [&](double value) {
        return std::abs(value - wanted) <= kLater.numbers * std::abs(wanted);
      };
      if (!is_wanted(total) && !is_wanted(total / static_cast<double>(executions.size()))) continue;
      sum.is_known = true;
      for (const std::uint32_t term : executions) run.nodes()[term].is_known = true;
    }
  }
}

void find_wholes(ResultGraph& run, const PartsOfResults& wholes, PartsOfResults& parts) {
  for (const auto& [place, executions] : wholes.unknown())
    for (const std::uint32_t whole : executions) run.nodes()[whole].is_known |= parts.find(run, whole, place);
  parts.close();
  for (const auto& [place, executions] : wholes.unknown())
    for (const std::uint32_t whole : executions) run.nodes()[whole].is_known |= parts.have_all_of(whole);
}

}  // namespace

void find_known_results(ResultGraph& golden, ResultGraph& actual, unsigned threads) {
  find_same(golden, actual, true, threads);
  find_same(actual, golden, false, threads);
  doubt_first_updates(golden, actual);
  const bool joins_steps = !golden.trains() && !actual.trains();  // as a cache does
  PartsOfResults of_golden(golden, joins_steps), of_actual(actual, joins_steps);
  find_wholes(golden, of_golden, of_actual);
  find_wholes(actual, of_actual, of_golden);
  find_sums(golden, actual);
  find_sums(actual, golden);
}

}  // namespace opdump::compare
