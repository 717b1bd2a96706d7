// What `opdump diff` says, for people and for programs.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "blame/answer.h"
#include "cli/diff/side.h"
#include "cli/verb.h"

namespace opdump::cli {

// Increases when a key changes its meaning or is removed; new keys may be added at any time.
inline constexpr int kDiffSchemaVersion = 1;

enum class DiffOutcome : std::uint8_t {
  identical,  // to the last bit
  rounding,   // no difference beyond rounding
  differs,
  not_reproducible,  // A differs from A
  incomplete,        // no difference found, but not everything could be looked at
};
inline constexpr std::string_view kDiffOutcomeNames[] = {"identical", "rounding", "differs",
                                                         "not_reproducible", "incomplete"};

struct DiffAnswer {
  DiffOutcome outcome = DiffOutcome::incomplete;
  std::string sentence{};               // the answer
  std::string where{};                  // "identical to the last bit in steps 0 to 136, ..."; may be empty
  std::optional<std::int64_t> step{};   // where they part
  std::set<std::int64_t> rerun{};       // the steps to be recorded with tensors
  std::string op{}, source{};           // of the operator by which they do; may be empty
  std::int64_t steps = 0;               // that both have
  std::vector<std::string> notes{};     // what else should be known, or done
  std::vector<std::string> commands{};  // for the user to run
  std::optional<blame::BlameAnswer> blame{};
  std::string golden{}, actual{};  // the dumps with tensors; empty: there are none
  std::string report{};            // the page; empty: none
};

// The exit status: 0 no difference, 1 one was found, 3 there is no complete answer.
Exit exit_of(const DiffAnswer& answer);

// `folder` is where everything lies.
std::string format_diff(const DiffAnswer& answer, const std::string& folder);

// One JSON object in one line.
std::string diff_json(const DiffAnswer& answer, const std::vector<DiffSide>& sides,
                      const std::string& folder);

}  // namespace opdump::cli
