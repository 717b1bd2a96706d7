#include "compare/measure/statistics.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <iterator>
#include <optional>

#include "base/text/text.h"
#include "math/hash.h"
#include "math/stats/stats.h"
#include "math/stats/torch_hashes.h"

namespace opdump::compare {
namespace {

using math::Statistics;

constexpr std::uint64_t kPieceBytes = 32 << 20;  // whose sums are added
constexpr double kExactSum = 1e-15;

enum class Kind : std::uint8_t { extreme, mean, norm, total, count, sign_count, checksum, digest };

struct Column {
  std::string_view name;
  Kind kind;
  double Statistics::*value;           // of extremes, mean and norm
  std::uint64_t Statistics::*counter;  // of counts
};

// Logs of PyTorch's DebugMode have these columns.
constexpr std::string_view kTotal = "L1Norm Value", kChecksum = "hash_tensor";

constexpr std::array kColumns{
    Column{"Max Value", Kind::extreme, &Statistics::max, nullptr},
    Column{"Min Value", Kind::extreme, &Statistics::min, nullptr},
    Column{"Avg Value", Kind::mean, &Statistics::avg, nullptr},
    Column{"L2Norm Value", Kind::norm, &Statistics::l2norm, nullptr},
    Column{"Count", Kind::count, nullptr, &Statistics::count},
    Column{"NaN Count", Kind::count, nullptr, &Statistics::nan_count},
    Column{"Negative Inf Count", Kind::count, nullptr, &Statistics::negative_inf_count},
    Column{"Positive Inf Count", Kind::count, nullptr, &Statistics::positive_inf_count},
    Column{"Negative Zero Count", Kind::sign_count, nullptr, &Statistics::negative_count},
    Column{"Positive Zero Count", Kind::sign_count, nullptr, &Statistics::positive_count},
    Column{"Zero Count", Kind::sign_count, nullptr, &Statistics::zero_count},
    Column{"MD5", Kind::digest, nullptr, nullptr},
    Column{"SHA1", Kind::digest, nullptr, nullptr},
    Column{"XXH128", Kind::digest, nullptr, nullptr},
    Column{"CRC-32", Kind::digest, nullptr, nullptr},
    Column{kTotal, Kind::total, nullptr, nullptr},
    Column{kChecksum, Kind::checksum, nullptr, nullptr},
};

const Column* find_column(std::string_view name) {
  const auto* found = std::ranges::find(kColumns, name, &Column::name);
  return found == kColumns.end() ? nullptr : found;
}

const std::string* find_text(const Columns& columns, std::string_view name) {
  const auto found = std::ranges::find(columns, name, &Columns::value_type::first);
  return found == columns.end() ? nullptr : &found->second;
}

// Numbers as tools print them; "True" and "False" are those of device statistics.
std::optional<double> number(std::string_view text) {
  if (text == "True") return 1;
  if (text == "False") return 0;
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

// That reads back as `value`.
std::string shortest(double value) {
  std::array<char, 32> digits;
  return {digits.data(), std::to_chars(digits.begin(), digits.end(), value).ptr};
}

// A length for "small compared with the tensor": its root mean square, else its largest magnitude.
double typical_magnitude(const Columns& golden) {
  const auto norm = column_number(golden, "L2Norm Value"), count = column_number(golden, "Count");
  if (norm && count && *count > 0) return *norm / std::sqrt(*count);
  const double high = std::abs(column_number(golden, "Max Value").value_or(0));
  const double low = std::abs(column_number(golden, "Min Value").value_or(0));
  return std::max(high, low);
}

bool is_exact(model::DType dtype) {
  const auto kind = model::dtype_info(dtype).kind;
  return kind == model::DTypeKind::boolean || kind == model::DTypeKind::signed_integer ||
         kind == model::DTypeKind::unsigned_integer;
}

struct ColumnRule {
  math::Tolerance tolerance;
  bool exact = false;    // elements are integers
  double magnitude = 0;  // typical_magnitude of golden
};

bool is_close(std::string_view golden_text, std::string_view actual_text, Kind kind, const ColumnRule& rule) {
  if (golden_text == actual_text) return true;
  if (kind == Kind::digest || kind == Kind::checksum) return false;  // whose digits may all be decimal
  const auto golden = number(golden_text), actual = number(actual_text);
  if (!golden || !actual) return false;
  if (std::isnan(*golden) || std::isnan(*actual)) return std::isnan(*golden) && std::isnan(*actual);
  if (*golden == *actual) return true;
  if (!std::isfinite(*golden) || !std::isfinite(*actual)) return false;
  if (kind == Kind::count || kind == Kind::sign_count) return false;
  if (kind == Kind::extreme && rule.exact) return false;
  if (kind == Kind::total && rule.exact)  // of integers; only sums beyond those that a double has are rounded
    return std::abs(*actual - *golden) <= kExactSum * std::abs(*golden);
  const double size = kind == Kind::mean ? std::max(rule.magnitude, std::abs(*golden)) : std::abs(*golden);
  return std::abs(*actual - *golden) <= rule.tolerance.atol + rule.tolerance.rtol * size;
}

struct Findings {
  std::string value, sign_count, digest;  // the first difference of each kind; empty if none
  bool has_value = false, has_sign_count = false, has_digest = false;
};

Findings find_differences(const Columns& golden, const Columns& actual, const ColumnRule& rule) {
  Findings found;
  for (const auto& [name, text] : golden) {
    const std::string* other = find_text(actual, name);
    if (other == nullptr || text == "null" || *other == "null") continue;  // not computed
    const Column* column = find_column(name);
    const Kind kind = column == nullptr ? Kind::norm : column->kind;
    const bool sign = kind == Kind::sign_count || kind == Kind::checksum, digest = kind == Kind::digest;
    (sign ? found.has_sign_count : digest ? found.has_digest : found.has_value) = true;
    std::string& first = sign ? found.sign_count : digest ? found.digest : found.value;
    if (first.empty() && !is_close(text, *other, kind, rule))
      first.append(name).append(" ").append(text).append(" against ").append(*other);
  }
  return found;
}

}  // namespace

StatisticsVerdict compare_statistics(const Columns& golden, const Columns& actual, model::DType dtype,
                                     math::Tolerance tolerance) {
  const ColumnRule rule{
      {std::max(tolerance.rtol, 1e-5), tolerance.atol}, is_exact(dtype), typical_magnitude(golden)};
  const Findings found = find_differences(golden, actual, rule);
  if (!found.has_value && !found.has_sign_count && !found.has_digest)
    return {false, false, "the two sides have no statistic in common"};
  if (found.has_digest && found.digest.empty()) return {true, true, {}};
  if (!found.value.empty()) return {true, false, found.value};
  if (rule.exact || !found.has_value) {
    if (!found.sign_count.empty()) return {true, false, found.sign_count};
    if (!found.digest.empty()) return {true, false, found.digest};
  }
  return {true, true, found.digest.empty() ? std::string() : "statistics agree, bits do not"};
}

namespace {

// What torch computes of `tensor`, for those of `wanted` that are numbers of it.
void append_torch_hashes(const model::TensorView& tensor, const Columns& wanted, Columns& to) {
  if (!math::has_torch_hashes(tensor.dtype)) return;
  for (const auto& [name, text] : wanted) {
    if (name == kTotal) to.emplace_back(name, shortest(math::sum_of_magnitudes(tensor)));
    if (name == kChecksum) to.emplace_back(name, std::to_string(math::xor_of_elements(tensor)));
  }
}

}  // namespace

Result<Columns> compute_columns(const model::TensorView& tensor, model::DType dtype, const Columns& wanted) {
  Columns hashes;
  append_torch_hashes(tensor, wanted, hashes);
  if (hashes.size() == wanted.size() && !hashes.empty()) return hashes;
  if (!math::has_statistics(tensor.dtype))
    return Error(Code::unsupported, std::string(model::dtype_info(tensor.dtype).name) + " has no statistics");
  const math::StatNeeds needs{true, true, true, true};
  math::StatPartial whole = math::make_partial();
  for (const model::TensorView& piece : math::split_view(tensor, kPieceBytes))
    math::merge(whole, math::partial_stats(piece, needs));
  const Statistics statistics = math::finish(whole);
  Columns columns;
  for (const auto& [name, text] : wanted) {
    const Column* column = find_column(name);
    if (column == nullptr) continue;
    if (column->value != nullptr) columns.emplace_back(name, format_g(statistics.*column->value));
    if (column->counter != nullptr) columns.emplace_back(name, std::to_string(statistics.*column->counter));
    if (dtype != tensor.dtype && dtype != model::DType::undefined) continue;  // other bytes
    if (name == "MD5") columns.emplace_back(name, math::md5_hex(tensor));
    if (name == "SHA1") columns.emplace_back(name, math::sha1_hex(tensor));
    if (name == "XXH128") columns.emplace_back(name, math::xxh128_hex(tensor));
  }
  std::ranges::move(hashes, std::back_inserter(columns));
  return columns;
}

Result<Columns> compute_extent(const model::TensorView& tensor, model::DType dtype) {
  return compute_columns(tensor, dtype, {{"Max Value", ""}, {"Min Value", ""}, {"L2Norm Value", ""}});
}

Result<KnownStatistics> statistics_of(const dump::Slot& slot, const dump::Slot& other) {
  if (!slot.statistics.empty()) return KnownStatistics{slot.statistics.columns(), slot.shape};
  OPDUMP_TRY(const dump::StoredTensor tensor, dump::StoredTensor::read(slot));
  const model::DType dtype = slot.dtype == model::DType::undefined ? other.dtype : slot.dtype;
  OPDUMP_TRY(Columns columns, compute_columns(tensor.view(), dtype, other.statistics.columns()));
  return KnownStatistics{std::move(columns), tensor.view().shape};
}

std::optional<double> column_number(const Columns& columns, std::string_view name) {
  const std::string* text = find_text(columns, name);
  return text == nullptr ? std::nullopt : number(*text);
}

Columns merge_columns(std::span<const Columns> parts, std::span<const std::uint64_t> counts,
                      std::uint64_t copies, double scale) {
  Columns merged;
  if (parts.empty()) return merged;
  for (const auto& [name, text] : parts[0]) {
    const Column* column = find_column(name);
    if (column == nullptr || column->kind == Kind::digest || column->kind == Kind::checksum) continue;
    double value = 0, elements = 0;
    bool is_known = true, is_first = true;
    for (std::size_t i = 0; is_known && i < parts.size(); ++i) {
      const auto own = column_number(parts[i], name);
      is_known = own.has_value() || counts[i] == 0;
      if (!own || counts[i] == 0) continue;
      const auto weight = static_cast<double>(counts[i]);
      elements += weight;
      if (column->kind == Kind::extreme)
        value = is_first ? *own : name == "Max Value" ? std::max(value, *own) : std::min(value, *own);
      else
        value += column->kind == Kind::norm ? *own * *own : column->kind == Kind::mean ? *own * weight : *own;
      is_first = false;
    }
    if (!is_known || is_first) continue;
    const auto each = static_cast<double>(copies);
    if (column->kind == Kind::extreme) value /= scale;
    if (column->kind == Kind::mean) value /= elements * scale;
    if (column->kind == Kind::norm) value = std::sqrt(value / each) / scale;
    if (column->kind == Kind::total) value /= each * scale;
    if (column->kind == Kind::count || column->kind == Kind::sign_count) value /= each;
    merged.emplace_back(name, shortest(value));
  }
  return merged;
}

Columns all_columns() {
  Columns columns;
  for (const Column& column : kColumns)
    if (column.value != nullptr || column.counter != nullptr) columns.emplace_back(column.name, "");
  return columns;
}

}  // namespace opdump::compare
