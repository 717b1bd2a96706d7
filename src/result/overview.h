// The operators of a result in columns, in memory: a viewer filters, sorts and sums up a million of them
// while somebody waits for it. Details of one operator stay in the database.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
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

  // What does not depend on a request, as JSON: verdicts, phases, types, steps and ranks with how many
  // operators have each; the curve.
  std::string summary_json() const;
  // How many operators pass, and which of them are asked for. How many of all differ, judged again, and the
  // first.
  struct Rows {
    std::size_t total = 0, differing = 0;
    std::int64_t first_differing = 0;
    std::vector<std::int64_t> ids{};
  };
  // The operators that pass are kept until others are asked for. Not for several threads at once.
  // Errors: those of the database.
  Result<Rows> rows(Database& database, const RowRequest& request);
  // Modules directly within `module` ("" for the outermost) by step: the worst error, its operator, what is
  // missing. JSON.
  std::string modules_json(const std::string& module) const;

  static constexpr std::size_t kMostPoints = 2000;  // of a line of the curve
  static constexpr std::size_t kMostLines = 8;

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
  std::vector<Line> lines() const;

  std::optional<Passed> passed_;
  bool is_comparison_ = false;
  // The verdicts that are given again: match, own_error, inherited, input_differs.
  enum Judged : std::uint8_t { match, own_error, inherited, input_differs };
  std::array<TextCode, 4> judged_{};
  InternedTexts texts_;
  std::vector<std::int64_t> ids_;
  std::vector<std::int64_t> steps_;
  std::vector<std::uint32_t> ranks_;
  std::vector<TextCode> names_, types_, phases_, verdicts_, modules_, sources_;
  // NaN: not measured. Errors are divided by the tolerance.
  std::vector<float> output_errors_, input_errors_;
  // The columns of the table: of the slot that represents the operator, read when somebody sorts by them; or
  // of its first output.
  std::vector<float> largest_, cosine_, differing_;
  std::vector<float> norms_, least_, greatest_, not_finite_, zeros_;  // of one dump
};

}  // namespace opdump::result
