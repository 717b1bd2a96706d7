#include "compare/facts/find_matrix_units.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <functional>
#include <nlohmann/json.hpp>
#include <span>
#include <vector>

#include "base/text/json.h"
#include "compare/names.h"
#include "compare/wiring/content.h"

namespace opdump::compare {
namespace {

using model::DType;

constexpr std::uint64_t kMaxElements = 1 << 20;
constexpr std::size_t kMostOperators = 12, kSamples = 32, kFew = 2;
constexpr double kExplained = 0.1;   // of the error that is left if the inputs are rounded first
constexpr double kFullError = 1e-5;  // relative: with all bits, a sum is as near
constexpr double kVisible = 64e-7;   // relative: less of an error may come from adding up
constexpr unsigned kShortSum = 7;    // bits of bfloat16
constexpr double kExactSum = 1e-6;   // relative: how far off a sum of so few bits is that a term was added to
constexpr double kLargestLoss = 1.0 / 64;  // of the sizes of what is added up

// Ways to leave out bits: some units round, some cut.
struct Way {
  unsigned bits = 0;
  bool cuts = false;
  MatrixUnits units = {};
};
constexpr std::array<Way, 4> kWays{{{10, false, {"TF32", DType::float16}},
                                    {10, true, {"TF32", DType::float16}},
                                    {7, false, {"bfloat16", DType::bfloat16}},
                                    {7, true, {"bfloat16", DType::bfloat16}}}};
constexpr MatrixUnits kOfShortSums{"bfloat16 sums", DType::bfloat16};

double shorten(double value, unsigned kept, bool cuts) {
  const unsigned drop = 23 - kept;
  auto bits = std::bit_cast<std::uint32_t>(static_cast<float>(value));
  if (!cuts) bits += (1U << (drop - 1)) - 1 + ((bits >> drop) & 1U);
  return std::bit_cast<float>(bits & ~((1U << drop) - 1));
}

// A sum: of all bits, and with the inputs shortened in each way.
struct Sum {
  double full = 0, size = 0;  // and what is added up without signs
  std::array<double, kWays.size()> less{};
  double factor = 1, term = 0;  // of what is added up: it is multiplied, and this is added

  void add(double a, double b) {
    full += a * b;
    size += std::abs(a * b);
    for (std::size_t way = 0; way < kWays.size(); ++way)
      less[way] +=
          shorten(a, kWays[way].bits, kWays[way].cuts) * shorten(b, kWays[way].bits, kWays[way].cuts);
  }
  void scale_and_add(double by, double of) {
    full = by * full + of;
    size = std::abs(by) * size;
    for (double& sum : less) sum = by * sum + of;
    factor = by;
    term = of;
  }

  // Whether a result is this with a sum that has the bits of bfloat16 only, however it was added up.
  bool gives_short(double result) const {
    if (std::abs(result - full) > kLargestLoss * size) return false;
    const auto is_short = [&](double value) {
      return std::abs(value - shorten(value, kShortSum, false)) <=
             kExactSum * (std::abs(result) + std::abs(term));
    };
    return is_short(result) || (factor != 0 && is_short((result - term) / factor));
  }
};

// An operator with its operands. Its implicit members move a JSON object, which clang-tidy cannot see
// through.
class Products {  // NOLINT(bugprone-exception-escape)
 public:
  static std::optional<Products> read(const dump::OperatorRun& run) {
    if (run.form == nullptr) return std::nullopt;
    Products products;
    products.arguments_ = parse_ordered_json(run.form->arguments);
    if (!products.arguments_.is_object()) return std::nullopt;
    for (const dump::Slot& slot : run.slots)
      if (model::is_floating(slot.dtype) && slot.dtype != DType::float32) return std::nullopt;
    const auto has = [&](std::string_view name) { return products.arguments_.contains(name); };
    if (has("grad_output")) return std::nullopt;  // of a backward pass
    const bool is_convolution = has("weight");
    const auto names = is_convolution  ? std::array{"input", "weight", "bias"}
                       : has("mat1")   ? std::array{"mat1", "mat2", "self"}
                       : has("batch1") ? std::array{"batch1", "batch2", "self"}
                                       : std::array{"self", "mat2", ""};
    const bool has_term = names[2] == std::string_view("self");
    auto a = products.operand(run, names[0]), b = products.operand(run, names[1]);
    auto result = read_numbers(run, model::Side::output, 0, kMaxElements);
    if (!a || !b || !result || result->values.empty()) return std::nullopt;
    if (auto term = products.operand(run, names[2]))
      products.term_ = std::move(*term);
    else if (has_term || (is_convolution && has("bias") && !products.arguments_["bias"].is_null()))
      return std::nullopt;
    products.a_ = std::move(*a);
    products.b_ = std::move(*b);
    products.result_ = std::move(*result);
    products.is_convolution_ = is_convolution;
    const bool fits = is_convolution ? products.fits_convolution() : products.fits_matrices();
    return fits ? std::optional(std::move(products)) : std::nullopt;
  }

  std::size_t size() const { return result_.values.size(); }
  double result(std::size_t place) const { return result_.values[place]; }
  Sum compute(std::size_t place) const {
    return is_convolution_ ? compute_convolution(place) : compute_matrix(place);
  }

 private:
  std::optional<RecordedNumbers> operand(const dump::OperatorRun& run, std::string_view name) const {
    const auto found = arguments_.find(name);
    if (found == arguments_.end() || !found->is_object()) return std::nullopt;
    const auto index = found->find("tensor");
    if (index == found->end() || !index->is_number_unsigned()) return std::nullopt;
    return read_numbers(run, model::Side::input, index->get<std::uint64_t>(), kMaxElements);
  }
  double number(std::string_view name) const {
    const auto found = arguments_.find(name);
    return found != arguments_.end() && found->is_number() ? found->get<double>() : 1;
  }
  std::vector<std::int64_t> numbers(std::string_view name) const {
    std::vector<std::int64_t> values;
    if (const auto found = arguments_.find(name); found != arguments_.end() && found->is_array())
      for (const auto& value : *found)
        if (value.is_number_integer()) values.push_back(value.get<std::int64_t>());
    return values;
  }

  // (..., M, K) by (..., K, N)
  bool fits_matrices() const {
    const auto &a = a_.dims, &b = b_.dims, &y = result_.dims;
    const std::size_t n = y.size();
    if (n < 2 || a.size() != n || b.size() != n || term_.dims.size() > n) return false;
    for (std::size_t i = 0; i < term_.dims.size(); ++i)
      if (const std::int64_t size = term_.dims[i]; size != 1 && size != y[n - term_.dims.size() + i])
        return false;
    return std::equal(y.begin(), y.end() - 1, a.begin()) && a[n - 1] == b[n - 2] && b[n - 1] == y[n - 1] &&
           std::equal(y.begin(), y.end() - 2, b.begin());
  }

  Sum compute_matrix(std::size_t place) const {
    const std::size_t n = result_.dims.size();
    const auto columns = static_cast<std::size_t>(result_.dims[n - 1]),
               rows = static_cast<std::size_t>(result_.dims[n - 2]),
               depth = static_cast<std::size_t>(a_.dims[n - 1]);
    const std::size_t column = place % columns, row = place / columns, matrix = row / rows;
    Sum sum;
    for (std::size_t k = 0; k < depth; ++k)
      sum.add(a_.values[row * depth + k], b_.values[(matrix * depth + k) * columns + column]);
    if (!term_.values.empty()) sum.scale_and_add(number("alpha"), number("beta") * term_at(place));
    return sum;
  }

  // As broadcasting reads it.
  double term_at(std::size_t place) const {
    std::size_t index = 0, stride = 1, rest = place;
    for (std::size_t i = result_.dims.size(), j = term_.dims.size(); i-- > 0;) {
      const auto size = static_cast<std::size_t>(result_.dims[i]);
      if (j > 0) {
        --j;
        if (term_.dims[j] != 1) index += rest % size * stride;
        stride *= static_cast<std::size_t>(term_.dims[j]);
      }
      rest /= size;
    }
    return term_.values[index];
  }

  // (N, C, ...) by (O, C / groups, ...); transposed ones are not computed.
  bool fits_convolution() {
    const std::size_t n = result_.dims.size();
    if (n < 3 || a_.dims.size() != n || b_.dims.size() != n || arguments_.value("transposed", true))
      return false;
    stride_ = numbers("stride");
    padding_ = numbers("padding");
    dilation_ = numbers("dilation");
    groups_ = static_cast<std::int64_t>(number("groups"));
    const std::size_t axes = n - 2;
    const bool has_bias = !term_.values.empty();
    return stride_.size() == axes && padding_.size() == axes && dilation_.size() == axes && groups_ > 0 &&
           a_.dims[0] == result_.dims[0] && b_.dims[0] == result_.dims[1] && b_.dims[0] % groups_ == 0 &&
           a_.dims[1] == b_.dims[1] * groups_ && (!has_bias || term_.dims == std::vector{b_.dims[0]});
  }

  Sum compute_convolution(std::size_t place) const {
    const std::size_t n = result_.dims.size();
    std::vector<std::int64_t> at(n);  // in the result
    auto rest = static_cast<std::int64_t>(place);
    for (std::size_t i = n; i-- > 0; rest /= result_.dims[i]) at[i] = rest % result_.dims[i];
    const std::int64_t group = at[1] / (b_.dims[0] / groups_);
    std::int64_t taps = b_.dims[1];
    for (std::size_t i = 2; i < n; ++i) taps *= b_.dims[i];
    Sum sum;
    for (std::int64_t tap = 0; tap < taps; ++tap) {
      std::int64_t left = tap, index = 0, size = 1;
      bool is_inside = true;
      for (std::size_t i = n; i-- > 2; left /= b_.dims[i]) {
        const std::int64_t x =
            at[i] * stride_[i - 2] - padding_[i - 2] + left % b_.dims[i] * dilation_[i - 2];
        is_inside &= x >= 0 && x < a_.dims[i];
        index += x * size;
        size *= a_.dims[i];
      }
      if (!is_inside) continue;
      const std::int64_t channel = group * b_.dims[1] + left;
      index += (at[0] * a_.dims[1] + channel) * size;
      sum.add(a_.values[static_cast<std::size_t>(index)],
              b_.values[static_cast<std::size_t>(at[1] * taps + tap)]);
    }
    if (!term_.values.empty()) sum.scale_and_add(1, term_.values[static_cast<std::size_t>(at[1])]);
    return sum;
  }

  nlohmann::ordered_json arguments_;
  RecordedNumbers a_, b_, term_, result_;
  bool is_convolution_ = false;
  std::vector<std::int64_t> stride_, padding_, dilation_;
  std::int64_t groups_ = 1;
};

enum class Shown : std::uint8_t { nothing, full, less };

// Which of the ways explain a result; the last one are sums of few bits.
using Explains = std::array<bool, kWays.size() + 1>;

// What the result of an operator says.
Shown examine(const Products& products, Explains& ways) {
  double size = 0, full = 0;
  std::array<double, kWays.size()> less{}, change{};
  bool are_short = true;
  const std::size_t step = std::max<std::size_t>(1, products.size() / kSamples);
  for (std::size_t place = 0; place < products.size(); place += step) {
    const double found = products.result(place);
    const Sum sum = products.compute(place);
    if (!std::isfinite(found) || !std::isfinite(sum.full)) return Shown::nothing;
    size += sum.full * sum.full;
    full += (found - sum.full) * (found - sum.full);
    are_short &= sum.gives_short(found);
    for (std::size_t way = 0; way < kWays.size(); ++way) {
      less[way] += (found - sum.less[way]) * (found - sum.less[way]);
      change[way] += (sum.full - sum.less[way]) * (sum.full - sum.less[way]);
    }
  }
  size = std::sqrt(size);
  full = std::sqrt(full);
  if (!(size > 0) || std::sqrt(change[0]) <= kVisible * size) return Shown::nothing;  // inputs of few bits
  if (full <= kFullError * size) return Shown::full;
  for (std::size_t way = 0; way < kWays.size(); ++way) ways[way] = std::sqrt(less[way]) <= kExplained * full;
  ways.back() = are_short;
  return std::ranges::any_of(ways, std::identity()) ? Shown::less : Shown::nothing;
}

std::optional<MatrixUnits> find_units_of(const dump::Runs& runs, const std::vector<std::uint32_t>& candidates,
                                         std::size_t few) {
  std::array<std::size_t, kWays.size() + 1> counts{};
  std::size_t shown = 0;
  const std::size_t step = std::max<std::size_t>(1, candidates.size() / kMostOperators);
  for (std::size_t i = 0; i < candidates.size(); i += step) {
    const auto products = Products::read(runs[candidates[i]]);
    Explains ways{};
    const Shown what = products ? examine(*products, ways) : Shown::nothing;
    if (what == Shown::full) return std::nullopt;
    shown += what == Shown::less;
    for (std::size_t way = 0; what == Shown::less && way < counts.size(); ++way) counts[way] += ways[way];
  }
  const auto best = std::ranges::max_element(counts);
  if (shown < few || *best < shown) return std::nullopt;
  const auto way = static_cast<std::size_t>(best - counts.begin());
  return way < kWays.size() ? kWays[way].units : kOfShortSums;
}

}  // namespace

std::optional<MatrixUnits> find_matrix_units(const dump::Runs& runs) {
  std::vector<std::uint32_t> products, convolutions;
  for (std::uint32_t run = 0; run < runs.size(); ++run) {
    const dump::OperatorRun op = runs.without_slots(run);
    const std::string_view type = op.type;
    if (model::has_trait(type, model::Trait::multiplies)) products.push_back(run);
    if (model::has_trait(type, model::Trait::convolves) && phase_of(op) != model::Phase::backward)
      convolutions.push_back(run);
  }
  auto for_matrices = find_units_of(runs, products, kFew);
  const auto for_convolutions = find_units_of(runs, convolutions, for_matrices ? 1 : kFew);
  if (for_convolutions && !for_matrices) for_matrices = find_units_of(runs, products, 1);
  std::optional<MatrixUnits> units;
  if (for_matrices) {
    units = for_matrices;
    units->for_matrices = true;
  }
  if (for_convolutions) {
    MatrixUnits other = *for_convolutions;
    other.for_convolutions = true;
    units = join_units(units, other);
  }
  return units;
}

MatrixUnits join_units(const std::optional<MatrixUnits>& one, MatrixUnits other) {
  if (!one) return other;
  MatrixUnits both = one->as == DType::bfloat16 ? *one : other;
  both.for_matrices = one->for_matrices || other.for_matrices;
  both.for_convolutions = one->for_convolutions || other.for_convolutions;
  return both;
}

std::string describe_units(std::string_view side, const MatrixUnits& units) {
  const std::string what = !units.for_matrices       ? "convolutions"
                           : !units.for_convolutions ? "matrix products"
                                                     : "matrix products and convolutions";
  return std::string(side) + " computes " + what + " with " + std::string(units.name);
}

}  // namespace opdump::compare
