#include "weights/measure.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <set>
#include <utility>

#include "compare/measure/relation.h"
#include "weights/elements.h"
#include "weights/rounding.h"

namespace opdump::weights {
namespace {

using model::DType;

constexpr std::size_t kMeasureChunk = 4096;      // elements
constexpr std::size_t kMostRowsNamed = 16;       // of those that differ
constexpr std::uint64_t kMostRelated = 4 << 20;  // elements that a relation is looked for in

struct OpenLink {
  WeightElements golden, actual;
  std::vector<RowRun> runs;
  std::uint64_t columns;  // of a row, on both sides
};

Result<OpenLink> open_link(const WeightTensor& golden, const WeightTensor& actual,
                           const Arrangement& arrangement) {
  OPDUMP_TRY(WeightElements g, arrangement.axes.empty()
                                   ? WeightElements::open(golden, arrangement.golden_swapped)
                                   : WeightElements::open_permuted(golden, arrangement.axes));
  OPDUMP_TRY(WeightElements a, WeightElements::open(actual, arrangement.actual_swapped));
  const std::uint64_t columns = a.shape().columns;
  std::vector<RowRun> runs = arrangement.runs;
  if (arrangement.is_flat || !arrangement.axes.empty()) runs = {{0, 0, a.shape().all_rows()}};
  return OpenLink{std::move(g), std::move(a), std::move(runs), columns};
}

// Calls see(golden, actual, count, row of actual, column) for numbers that correspond, until it returns
// false.
template <typename Lane, typename See>
void walk(const OpenLink& link, const See& see) {
  std::array<Lane, kMeasureChunk> golden, actual;
  const auto give = [&](std::uint64_t golden_at, std::uint64_t actual_at, std::uint64_t count) {
    for (std::uint64_t done = 0; done < count; done += kMeasureChunk) {
      const std::uint64_t here = std::min<std::uint64_t>(kMeasureChunk, count - done);
      link.golden.read(golden_at + done, here, golden.data());
      link.actual.read(actual_at + done, here, actual.data());
      if (!see(golden.data(), actual.data(), here, actual_at + done)) return false;
    }
    return true;
  };
  for (const RowRun& run : link.runs) {
    if (run.golden_step == 1 && run.actual_step == 1) {
      if (!give(run.golden * link.columns, run.actual * link.columns, run.count * link.columns)) return;
      continue;
    }
    for (std::uint64_t i = 0; i < run.count; ++i)
      if (!give((run.golden + i * run.golden_step) * link.columns,
                (run.actual + i * run.actual_step) * link.columns, link.columns))
        return;
  }
}

template <typename Lane>
bool is_same(Lane a, Lane b) {
  return a == b || (std::isnan(a) && std::isnan(b));
}

// One of the two sides is a cast of the other.
struct Cast {
  bool of_golden = false;
  DType to = DType::undefined;  // undefined: nothing is cast
};

template <typename Lane>
bool is_cast(const OpenLink& link, const Cast& cast) {
  bool is_equal = true;
  walk<Lane>(link, [&](Lane* golden, Lane* actual, std::uint64_t count, std::uint64_t) {
    if (cast.to != DType::undefined) round_to(cast.to, cast.of_golden ? golden : actual, count);
    for (std::uint64_t i = 0; i < count; ++i) is_equal = is_equal && is_same(golden[i], actual[i]);
    return is_equal;
  });
  return is_equal;
}

std::size_t bits_of(DType dtype) { return model::dtype_info(dtype).bits; }

// Whether actual and golden have so many different numbers that their being rounded is no chance: all ones
// are golden, rounded, of every norm that has hardly been trained.
bool has_many_numbers(const OpenLink& link) {
  constexpr std::size_t kMany = 32;
  constexpr std::uint64_t kLooked = 1 << 16;
  std::set<double> golden, actual;
  std::uint64_t looked = 0;
  walk<double>(link, [&](const double* g, const double* a, std::uint64_t count, std::uint64_t) {
    golden.insert(g, g + count);
    actual.insert(a, a + count);
    looked += count;
    return looked < kLooked && (golden.size() < kMany || actual.size() < kMany);
  });
  return golden.size() >= kMany && actual.size() >= kMany;
}

// What may have happened, the likeliest first: what the types say, then numbers that were rounded and are
// stored wider again.
std::vector<Cast> possible_casts(const OpenLink& link) {
  const DType golden = link.golden.dtype(), actual = link.actual.dtype();
  std::vector<Cast> casts{{}};
  if (!model::is_floating(golden) || !model::is_floating(actual)) return casts;
  if (golden != actual && can_round_to(actual) && bits_of(actual) <= bits_of(golden))
    casts.push_back({true, actual});
  if (golden != actual && can_round_to(golden) && bits_of(golden) <= bits_of(actual))
    casts.push_back({false, golden});
  if (!has_many_numbers(link)) return casts;
  for (const DType to : {DType::bfloat16, DType::float16}) {
    if (to != actual && bits_of(to) < bits_of(golden)) casts.push_back({true, to});
    if (to != golden && bits_of(to) < bits_of(actual)) casts.push_back({false, to});
  }
  return casts;
}

// As bytes, where that suffices.
bool has_equal_bytes(const OpenLink& link) {
  if (link.golden.dtype() != link.actual.dtype() || link.runs.size() != 1) return false;
  const RowRun& run = link.runs.front();
  const std::size_t size = bits_of(link.golden.dtype()) / 8 * link.columns;
  return run.golden_step == 1 && run.actual_step == 1 &&
         std::memcmp(link.golden.data() + run.golden * size, link.actual.data() + run.actual * size,
                     run.count * size) == 0;
}

std::string describe(const Cast& cast, DType golden, DType actual) {
  const std::string_view from = model::dtype_info(golden).name, in = model::dtype_info(actual).name,
                         to = model::dtype_info(cast.to).name;
  if (cast.to == DType::undefined)
    return golden == actual ? std::string() : std::string(from) + " to " + std::string(in);
  if (cast.of_golden)
    return std::string(from) + " to " + std::string(to) +
           (cast.to == actual ? "" : ", stored as " + std::string(in));
  return cast.to == golden ? "actual " + std::string(in) + " is golden after rounding to " + std::string(to)
                           : "actual rounded to " + std::string(to);
}

// Sums over a pair that differs.
void measure(const OpenLink& link, WeightDistance& distance) {
  double difference = 0, norm = 0, actual_norm = 0, product = 0;
  std::uint64_t last_row = UINT64_MAX;
  distance.golden_least = distance.actual_least = INFINITY;
  distance.golden_most = distance.actual_most = -INFINITY;
  const DType narrow =
      bits_of(link.actual.dtype()) < bits_of(link.golden.dtype()) ? link.actual.dtype() : link.golden.dtype();
  const bool rounds = link.actual.dtype() != link.golden.dtype() && can_round_to(narrow) &&
                      model::is_floating(link.actual.dtype()) && model::is_floating(link.golden.dtype());
  walk<double>(link, [&](double* golden, double* actual, std::uint64_t count, std::uint64_t at) {
    if (rounds) round_to(narrow, narrow == link.actual.dtype() ? golden : actual, count);
    for (std::uint64_t i = 0; i < count; ++i) {
      const double g = golden[i], a = actual[i];
      distance.golden_least = std::min(distance.golden_least, g);
      distance.golden_most = std::max(distance.golden_most, g);
      distance.actual_least = std::min(distance.actual_least, a);
      distance.actual_most = std::max(distance.actual_most, a);
      if (!is_same(g, a)) {
        ++distance.differing;
        if (const std::uint64_t row = (at + i) / link.columns; row != std::exchange(last_row, row)) {
          ++distance.differing_row_count;
          if (distance.differing_rows.size() < kMostRowsNamed) distance.differing_rows.push_back(row);
        }
      }
      if (!std::isfinite(g) || !std::isfinite(a)) {
        if (!is_same(g, a)) distance.max_abs = INFINITY;
        continue;
      }
      distance.max_abs = std::max(distance.max_abs, std::abs(a - g));
      difference += (a - g) * (a - g);
      norm += g * g;
      actual_norm += a * a;
      product += a * g;
    }
    distance.count += count;
    return true;
  });
  distance.relative_l2 = norm > 0 ? std::sqrt(difference / norm) : difference > 0 ? INFINITY : 0;
  distance.cosine = norm > 0 && actual_norm > 0 ? product / std::sqrt(norm * actual_norm) : 0;
  for (const RowRun& run : link.runs) distance.rows += run.count;
}

std::string find_relation(const OpenLink& link) {
  std::vector<double> golden, actual;
  std::uint64_t rows = 0;
  for (const RowRun& run : link.runs) rows += run.count;
  if (rows == 0 || rows * link.columns > kMostRelated) return {};
  walk<double>(link, [&](const double* g, const double* a, std::uint64_t count, std::uint64_t) {
    golden.insert(golden.end(), g, g + count);
    actual.insert(actual.end(), a, a + count);
    return true;
  });
  const DType coarser =
      bits_of(link.actual.dtype()) < bits_of(link.golden.dtype()) ? link.actual.dtype() : link.golden.dtype();
  std::vector<std::int64_t> dims{static_cast<std::int64_t>(rows)};
  if (link.columns > 1) dims.push_back(static_cast<std::int64_t>(link.columns));
  return compare::describe_relation(golden, actual, dims, coarser);
}

}  // namespace

Result<WeightDistance> measure_link(const WeightTensor& golden, const WeightTensor& actual,
                                    const Arrangement& arrangement) {
  OPDUMP_TRY(const OpenLink link, open_link(golden, actual, arrangement));
  WeightDistance distance;
  if (link.columns == 0 || has_equal_bytes(link)) {
    distance.is_equal = true;
    return distance;
  }
  const bool fits_float = link.golden.fits_float() && link.actual.fits_float();
  for (const Cast& cast : possible_casts(link)) {
    if (!(fits_float ? is_cast<float>(link, cast) : is_cast<double>(link, cast))) continue;
    distance.is_equal = true;
    distance.cast = describe(cast, link.golden.dtype(), link.actual.dtype());
    return distance;
  }
  measure(link, distance);
  distance.relation = find_relation(link);
  return distance;
}

}  // namespace opdump::weights
