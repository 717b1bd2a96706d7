// The operators of a result in columns, in memory: a viewer filters, sorts and sums up a million of them
// while somebody waits for it. Details of one operator stay in the database.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/text/text_arena.h"
#include "result/database.h"

namespace opdump::result {

// Which operators, in which order. Empty texts select all.
struct RowRequest {
  std::string text{};  // words that the name or the source line has, in upper or lower case
  std::string verdict{}, phase{}, type{}, module{}, step{}, rank{};
  std::string sort{};  // a column of the page: "error", "-error" for descending; empty: as they were executed
  double tolerance =
      0;  // the power of ten that tolerances are multiplied with before operators are judged again
  std::size_t offset = 0, count = 100;
};

class Overview {
 public:
  // Errors: those of the database; limit -- more operators than fit into numbers of 32 bits.
  static Result<Overview> load(Database& database);

  std::size_t size() const { return ids_.size(); }
  bool has_several_ranks() const {
    return std::ranges::any_of(ranks_, [&](std::uint32_t rank) { return rank != ranks_.front(); });
  }

  // What does not depend on a request, as JSON: verdicts, phases, types, steps and ranks with how many
  // operators have each; the curve.
  std::string summary_json() const;
  // The curve between two positions (half open): an array of its lines. Of the operators that share a point,
  // the worst is shown: [id, position, error, phase as a number in "phases"]. Names would be most of the
  // answer; who looks at a point asks for one.
  std::string lines_json(std::size_t begin, std::size_t end) const;
  // The name of an operator, "" if there is none, as a JSON text.
  std::string name_json(std::int64_t id) const;
  // Of ranks and operators, the rows with the largest errors; collectives that differ come first. JSON.
  std::string ranks_json() const;
  // How many operators pass, and which of them are asked for. How many of all differ, judged again, and the
  // first.
  struct Rows {
    std::size_t total = 0, differing = 0;
    std::int64_t first_differing = 0;
    std::vector<std::int64_t> ids{};
    std::vector<std::uint32_t> places{};  // of these ids, in execution order
  };
  // The operators that pass are kept until others are asked for. Not for several threads at once.
  // Errors: those of the database.
  Result<Rows> rows(Database& database, const RowRequest& request);
  // These rows as the table shows them, as JSON: an array for each column. Verdicts are judged again with
  // tolerances 10^tolerance times as wide. Errors: those of the database.
  Result<std::string> rows_json(Database& database, const Rows& rows, double tolerance) const;
  // Modules directly within `module` ("" for the outermost) by step: the worst error, its operator, what is
  // missing. JSON.
  std::string modules_json(const std::string& module) const;

  static constexpr std::size_t kMostPoints = 1000;  // of a line of the curve
  static constexpr std::size_t kMostLines = 8;
  static constexpr std::size_t kMostRankRows = 40, kMostRanks = 64;

 private:
  using TextCode = std::uint32_t;  // in texts_
  struct Line {
    std::int64_t rank = 0, step = 0;
    std::vector<std::uint32_t> rows;
    float worst = 0;
  };
  struct Passed {
    std::string request{};  // all of it but offset and count
    std::vector<std::uint32_t> rows{};
    std::size_t differing = 0;
    std::int64_t first_differing = 0;
  };
  const Passed& passed(const RowRequest& request);
  Result<> read_operators(Database& database);
  Result<> read_norms(Database& database);
  Result<> read_key_slots(Database& database);
  TextCode judge(std::size_t row, double factor) const;
  std::vector<std::uint32_t> select(const RowRequest& request) const;
  void sort(std::vector<std::uint32_t>& rows, const RowRequest& request) const;
  void find_lines();
  float worst_of(std::uint32_t row) const;  // its error, or its norm
  static constexpr std::string_view kNoModule = "(no module)";
  static constexpr float kNone = std::numeric_limits<float>::quiet_NaN();
  // The worse of two errors; NaN is none.
  static bool is_worse(float a, float b) { return !std::isnan(a) && (std::isnan(b) || a > b); }

  std::optional<Passed> passed_;
  bool is_comparison_ = false;
  // The verdicts that are given again.
  enum Judged : std::uint8_t { match, own_error, inherited, input_differs, argument_differs, rounding };
  std::array<TextCode, 6> judged_{};
  InternedTexts texts_;
  mutable std::vector<TextCode> natural_places_;  // of texts_ in natural order, when somebody sorts by them
  std::vector<Line> lines_;                       // of the curve: those with the largest errors
  std::vector<std::int64_t> ids_;
  std::vector<std::int64_t> steps_;
  std::vector<std::uint32_t> ranks_;
  std::vector<TextCode> names_, types_, phases_, verdicts_, modules_, sources_;
  std::vector<TextCode> distinct_phases_;  // in the order of summary_json()
  // NaN: not measured. Errors are divided by the tolerance.
  std::vector<float> output_errors_, input_errors_;
  // The columns of the table: of the slot that represents the operator, read when somebody sorts by them; or
  // of its first output.
  std::vector<float> largest_, cosine_, differing_;
  std::vector<float> norms_, least_, greatest_, not_finite_, zeros_;  // of one dump
};

}  // namespace opdump::result
