#include "result/overview.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <functional>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "base/text/natural_order.h"
#include "base/text/text.h"
#include "result/rows.h"

namespace opdump::result {
namespace {

// NaN is kept as the text 'nan'; it and infinities are worst.
float error_of(const Statement& statement, int column) {
  const Value value = statement.value(column);
  if (std::holds_alternative<std::monostate>(value)) return std::numeric_limits<float>::quiet_NaN();
  if (std::holds_alternative<std::string_view>(value)) return std::numeric_limits<float>::infinity();
  return static_cast<float>(statement.real(column));
}

// Numbers of 32 bits in the order of floats; no NaN.
std::uint32_t ordered_bits(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value == 0 ? 0.0f : value);
  return (bits & 0x80000000u) != 0 ? ~bits : bits | 0x80000000u;
}

// Interns the texts of a column. What comes after a text is mostly what came after it before, as each step
// runs the same operators: that is a comparison, and no search.
class TextColumn {
 public:
  explicit TextColumn(InternedTexts& texts) : texts_(texts) {}
  std::uint32_t add(std::string_view text) {
    if (last_ >= followers_.size())
      followers_.resize(std::max<std::size_t>(last_ + 1, 2 * followers_.size()));
    std::uint32_t& follower = followers_[last_];
    if (texts_.size() == 0 || texts_[follower] != text) follower = texts_.add(text);
    return last_ = follower;
  }

 private:
  InternedTexts& texts_;
  std::vector<std::uint32_t> followers_;
  std::uint32_t last_ = 0;
};

}  // namespace

Result<Overview> Overview::load(Database& database) {
  Overview overview;
  OPDUMP_TRY(Statement count, database.prepare("SELECT count(*) FROM operators"));
  OPDUMP_CHECK_OK(count.next());
  const std::int64_t size = count.integer(0);
  if (size >= std::int64_t{UINT32_MAX}) return Error(Code::limit, "the result has too many operators");
  OPDUMP_TRY(const std::string actual, find_value(database, "actual"));
  overview.is_comparison_ = !actual.empty();
  constexpr std::string_view kJudged[] = {"match",         "own_error",        "inherited",
                                          "input_differs", "argument_differs", "rounding"};
  for (std::size_t i = 0; i < std::size(kJudged); ++i) overview.judged_[i] = overview.texts_.add(kJudged[i]);
  OPDUMP_CHECK_OK(overview.read_operators(database));
  const std::set<TextCode> phases(overview.phases_.begin(), overview.phases_.end());
  overview.distinct_phases_.assign(phases.begin(), phases.end());
  if (!overview.is_comparison_) OPDUMP_CHECK_OK(overview.read_norms(database));
  overview.find_lines();
  return overview;
}

Result<> Overview::read_operators(Database& database) {
  TextColumn phases(texts_), types(texts_), names(texts_), modules(texts_), sources(texts_), verdicts(texts_);
  std::string source;
  const auto add = [&](const Statement& read) -> Result<> {
    ids_.push_back(read.integer(0));
    ranks_.push_back(static_cast<std::uint32_t>(read.integer(1)));
    steps_.push_back(read.integer(2));
    phases_.push_back(phases.add(read.text_view(3)));
    types_.push_back(types.add(read.text_view(4)));
    names_.push_back(names.add(read.text_view(5)));
    modules_.push_back(modules.add(read.text_view(6)));
    source = read.text_view(7);
    if (!source.empty()) source += ":" + std::to_string(read.integer(8));
    sources_.push_back(sources.add(source));
    verdicts_.push_back(verdicts.add(read.text_view(9)));
    output_errors_.push_back(error_of(read, 10));
    input_errors_.push_back(error_of(read, 11));
    return ok();
  };
  return each_row(database,
                  "SELECT id, rank, step, phase, type, name, module, source_file, source_line, verdict, "
                  "output_error, input_error FROM operators ORDER BY id",
                  {}, add);
}

// Reads the errors of the slots that represent operators.
Result<> Overview::read_key_slots(Database& database) {
  if (!largest_.empty()) return ok();
  for (std::vector<float>* column : {&largest_, &cosine_, &differing_}) column->assign(ids_.size(), kNone);
  OPDUMP_TRY(Statement read,
             database.prepare("SELECT p.max_abs, p.cosine, p.mismatch_count, p.elements FROM operators o "
                              "LEFT JOIN pairs p ON p.slot = o.key_slot ORDER BY o.id"));
  for (std::size_t row = 0; row < ids_.size(); ++row) {
    OPDUMP_TRY(const bool found, read.next());
    if (!found) break;
    largest_[row] = error_of(read, 0);
    cosine_[row] = static_cast<float>(read.real(1));
    if (read.integer(3) > 0)
      differing_[row] = static_cast<float>(read.real(2) / static_cast<double>(read.integer(3)));
  }
  return ok();
}

// Reads the statistics of the first output that has some.
Result<> Overview::read_norms(Database& database) {
  for (std::vector<float>* column : {&norms_, &least_, &greatest_, &not_finite_, &zeros_})
    column->assign(ids_.size(), kNone);
  std::size_t row = 0;
  const auto add = [&](const Statement& read) -> Result<> {
    const std::int64_t id = read.integer(0);
    if (row < ids_.size() && ids_[row] != id)
      row = static_cast<std::size_t>(std::ranges::lower_bound(ids_, id) - ids_.begin());
    if (row >= ids_.size() || ids_[row] != id) return ok();
    const float bad = static_cast<float>(read.integer(4));
    const float norm = bad > 0 ? std::numeric_limits<float>::infinity() : error_of(read, 1);
    if (is_worse(norm, norms_[row])) norms_[row] = norm;
    if (!std::isnan(not_finite_[row])) return ok();
    least_[row] = static_cast<float>(read.real(2));
    greatest_[row] = static_cast<float>(read.real(3));
    not_finite_[row] = bad;
    const double all = static_cast<double>(read.integer(6));
    zeros_[row] = all > 0 ? static_cast<float>(read.real(5) / all) : kNone;
    return ok();
  };
  return each_row(database,
                  "SELECT s.operator, t.l2, t.min, t.max, t.nan_count + t.inf_count, t.zero_count, t.count "
                  "FROM slots s JOIN statistics t ON t.slot = s.id WHERE s.side = 'output' ORDER BY s.id",
                  {}, add);
}

// Only what was judged by its elements can be judged again.
Overview::TextCode Overview::judge(std::size_t row, double factor) const {
  const bool is_judged = std::ranges::find(judged_, verdicts_[row]) != judged_.end();
  if (factor == 1 || !is_judged || (std::isnan(output_errors_[row]) && std::isnan(input_errors_[row])))
    return verdicts_[row];
  const bool output = output_errors_[row] > factor, input = input_errors_[row] > factor;
  if (!output) return judged_[input && verdicts_[row] != judged_[rounding] ? input_differs : match];
  // What was excused, or has a known cause, stays so.
  if (verdicts_[row] == judged_[rounding]) return judged_[rounding];
  if (input) return judged_[inherited];
  return judged_[verdicts_[row] == judged_[argument_differs] ? argument_differs : own_error];
}

std::vector<std::uint32_t> Overview::select(const RowRequest& request) const {
  // What no operator has selects none.
  constexpr TextCode kAny = UINT32_MAX, kNo = UINT32_MAX - 1;
  const auto code_of = [&](const std::string& word) {
    return word.empty() ? kAny : texts_.find(word).value_or(kNo);
  };
  const TextCode verdict = code_of(request.verdict), phase = code_of(request.phase),
                 type = code_of(request.type);
  const std::optional<std::int64_t> step = parse_int64(request.step), rank = parse_int64(request.rank);
  const double factor = std::pow(10, request.tolerance);
  // Each text is looked at once, however many operators have it.
  std::vector<std::string> words;
  const std::string lower_text = to_lower(request.text);
  for (const std::string_view word : split(lower_text, ' '))
    if (!word.empty()) words.emplace_back(word);
  std::vector<std::uint32_t> has(words.empty() ? 0 : texts_.size());
  for (TextCode i = 0; i < has.size(); ++i) {
    const std::string lower = to_lower(texts_[i]);
    for (std::size_t w = 0; w < words.size() && w < 32; ++w)
      if (lower.find(words[w]) != std::string::npos) has[i] |= 1u << w;
  }
  const std::uint32_t all =
      words.empty()
          ? 0
          : static_cast<std::uint32_t>((std::uint64_t{1} << std::min<std::size_t>(words.size(), 32)) - 1);
  std::vector<char> within(request.module.empty() ? 0 : texts_.size());
  for (TextCode i = 0; i < within.size(); ++i)
    within[i] = texts_[i] == (request.module == kNoModule ? "" : request.module) ||
                texts_[i].starts_with(request.module + "/");
  std::vector<std::uint32_t> rows;
  for (std::uint32_t i = 0; i < ids_.size(); ++i) {
    if (step && steps_[i] != *step) continue;
    if (rank && ranks_[i] != *rank) continue;
    if (phase != kAny && phases_[i] != phase) continue;
    if (type != kAny && types_[i] != type) continue;
    if (!within.empty() && !within[modules_[i]]) continue;
    if (!has.empty() && (has[names_[i]] | has[sources_[i]]) != all) continue;
    if (verdict != kAny && judge(i, factor) != verdict) continue;
    rows.push_back(i);
  }
  return rows;
}

void Overview::sort(std::vector<std::uint32_t>& rows, const RowRequest& request) const {
  const bool down = request.sort.starts_with('-');
  const std::string_view key = std::string_view(request.sort).substr(down ? 1 : 0);
  // `bits(row)` is a number of 32 bits in the order wanted. Equal ones stay in the order of execution.
  const auto by = [&](const auto& bits) {
    std::vector<std::uint64_t> keys(rows.size());
    for (std::size_t i = 0; i < rows.size(); ++i)
      keys[i] = std::uint64_t{down ? ~bits(rows[i]) : bits(rows[i])} << 32 | rows[i];
    std::ranges::sort(keys);
    for (std::size_t i = 0; i < rows.size(); ++i) rows[i] = static_cast<std::uint32_t>(keys[i]);
  };
  // What was not measured comes last either way.
  const auto by_number = [&](const std::vector<float>& column, const std::vector<float>* other = nullptr) {
    by([&](std::uint32_t row) {
      const float own = other == nullptr || !std::isnan(column[row]) ? column[row] : (*other)[row];
      return std::isnan(own) ? (down ? 0u : UINT32_MAX) : ordered_bits(own);
    });
  };
  const auto by_text = [&](const std::vector<TextCode>& column) {
    if (natural_places_.empty()) {
      std::vector<TextCode> order(texts_.size());
      natural_places_.resize(texts_.size());
      for (TextCode i = 0; i < order.size(); ++i) order[i] = i;
      std::ranges::sort(order, NaturalLess(), [&](TextCode i) { return texts_[i]; });
      for (TextCode i = 0; i < order.size(); ++i) natural_places_[order[i]] = i;
    }
    by([&](std::uint32_t row) { return natural_places_[column[row]]; });
  };
  if (key == "rank") by([&](std::uint32_t row) { return ranks_[row]; });
  if (key == "step")
    by([&](std::uint32_t row) {
      return static_cast<std::uint32_t>(std::clamp<std::int64_t>(steps_[row], -1, UINT32_MAX - 1) + 1);
    });
  if (key == "verdict") by_text(verdicts_);
  if (key == "name") by_text(names_);
  if (key == "type") by_text(types_);
  if (key == "error") by_number(output_errors_, &input_errors_);
  if (key == "max" && is_comparison_) by_number(largest_);
  if (key == "cosine" && is_comparison_) by_number(cosine_);
  if (key == "differ" && is_comparison_) by_number(differing_);
  if (is_comparison_) return;
  if (key == "l2") by_number(norms_);
  if (key == "min") by_number(least_);
  if (key == "maxv") by_number(greatest_);
  if (key == "nan") by_number(not_finite_);
  if (key == "zero") by_number(zeros_);
}

const Overview::Passed& Overview::passed(const RowRequest& request) {
  std::string key;
  for (const std::string* text : {&request.text, &request.verdict, &request.phase, &request.type,
                                  &request.module, &request.step, &request.rank, &request.sort})
    key.append(*text).push_back('\0');
  key += format_g(request.tolerance);
  if (passed_ && passed_->request == key) return *passed_;
  Passed now{.request = std::move(key), .rows = select(request)};
  sort(now.rows, request);
  const double factor = std::pow(10, request.tolerance);
  for (std::size_t i = 0; i < ids_.size(); ++i) {
    const TextCode verdict = judge(i, factor);
    if (verdict != judged_[own_error] && verdict != judged_[inherited] && verdict != judged_[input_differs] &&
        verdict != judged_[argument_differs])
      continue;
    if (now.differing++ == 0) now.first_differing = ids_[i];
  }
  return passed_.emplace(std::move(now));
}

Result<Overview::Rows> Overview::rows(Database& database, const RowRequest& request) {
  if (request.sort.ends_with("max") || request.sort.ends_with("cosine") || request.sort.ends_with("differ"))
    OPDUMP_CHECK_OK(read_key_slots(database));
  const Passed& all = passed(request);
  Rows rows{.total = all.rows.size(), .differing = all.differing, .first_differing = all.first_differing};
  for (std::size_t i = request.offset; i < all.rows.size() && i - request.offset < request.count; ++i) {
    rows.ids.push_back(ids_[all.rows[i]]);
    rows.places.push_back(all.rows[i]);
  }
  return rows;
}

float Overview::worst_of(std::uint32_t row) const {
  if (!is_comparison_) return norms_[row];
  return std::isnan(output_errors_[row]) ? input_errors_[row] : output_errors_[row];
}

void Overview::find_lines() {
  std::map<std::pair<std::int64_t, std::int64_t>, Line> found;
  for (std::uint32_t i = 0; i < ids_.size(); ++i) {
    Line& line = found[{ranks_[i], steps_[i]}];
    line.rank = ranks_[i];
    line.step = steps_[i];
    line.rows.push_back(i);
    if (const float error = worst_of(i); is_worse(error, line.worst)) line.worst = error;
  }
  for (auto& [key, line] : found) lines_.push_back(std::move(line));
  if (lines_.size() > kMostLines) {
    std::ranges::stable_sort(lines_, std::greater(), &Line::worst);
    lines_.resize(kMostLines);
    std::ranges::sort(lines_, {}, [](const Line& line) { return std::pair(line.rank, line.step); });
  }
}

}  // namespace opdump::result
