// The operators that the program has defined, which of them are recorded, and their log, operators.jsonl. An
// operator is recorded if the plan's model rules, its operator rules and set_dump() all want it.
#pragma once

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "base/result.h"
#include "capture/operand.h"
#include "capture/recording_state.h"
#include "dump/operator_log.h"
#include "model/operator.h"
#include "plan/model_selector.h"
#include "plan/op_selector.h"

namespace opdump::capture {

// An operator as the session knows it. What is mutable belongs to the session. What each call looks at comes
// first, in one cache line: after a kernel none of it is in the cache.
struct alignas(64) DefinedOperator {
  plan::ModelSelector::Choice choice;
  std::atomic<bool> selected{false};
  mutable std::atomic<bool> is_in_graph{false};          // its detail is known
  mutable std::atomic<bool> is_written{false};           // something of it is in the dump
  mutable std::atomic<std::uint64_t> last_us{0};         // when it was last recorded
  mutable std::atomic<std::uint64_t> last_arguments{0};  // the hash of those that were logged last
  // Slots logged as without data: of the first 32 of each side a bit, of all others the number.
  mutable std::atomic<std::uint64_t> undumped_bits{0};
  mutable std::unordered_set<std::uint32_t> undumped;  // guarded by the table's lock
  // The hash of the parts of tensors that were logged last.
  mutable std::atomic<std::uint64_t> last_layout{0};
  mutable std::atomic<bool> may_ask{false};  // an argument of its last call is an infinity; see Call
  // Guarded by the lock of the WiringRecorder: the last step in which it ran, and the hash of who made what
  // it read.
  mutable std::int64_t wiring_step = INT64_MIN;
  mutable std::uint64_t last_wiring = 0;
  std::string last_source;  // that was logged, after that of `op`; guarded by the table's lock
  dump::LoggedOperator op;
};

// Thread-safe. Its lock is held for nothing else of the session.
class OperatorTable {
 public:
  struct Options {
    plan::OpSelector operators;
    plan::ModelSelector models;
    bool only_flagged = false;  // dump_mode 2: what set_dump() names
  };
  OperatorTable(Options options, dump::OperatorLogWriter log, const RecordingState& state);

  bool watches() const { return models_.watches(); }

  // The same operator for the same graph, type and name; another line is logged from the current step on.
  // Lives as long as the table.
  const DefinedOperator* define(dump::LoggedOperator op);

  // `is_unnamed`: the user flagged something that bears the name, see opdump_flag.
  void set_dump(std::string_view name, bool enabled, bool is_unnamed);

  // Makes a model known before its operators; returns the name of its directory.
  std::string define_model(std::int64_t graph_id, plan::ModelSelector::ModelNames names);
  std::string model_directory(std::int64_t graph_id) const;

  // Constants are chosen as operators are, by a name of their own (mindspore.md 1.6).
  bool wants_constant(const std::string& name);

  // Returns what the plan asked for, for schemes that list it (mindspore.md 2.9): the configured texts, and
  // full names instead of regular expressions. Empty for all operators.
  std::vector<std::string> list_requested() const;

  // Logs the first time that a slot of the operator has no data.
  void log_undumped(const DefinedOperator& op, std::int64_t step, model::Side side, const Operand& operand,
                    std::string_view reason);
  // Logs what it executes from this step on.
  void log_call(const DefinedOperator& op, std::int64_t step, dump::CallForm form);
  // Logs which parts of tensors it has from this step on.
  void log_layout(const DefinedOperator& op, std::int64_t step, dump::CallLayout layout);
  // Logs who made what it reads from this step on.
  void log_wiring(const DefinedOperator& op, std::int64_t step, dump::CallWiring wiring);
  Result<> flush_log();
  // Removes from the log in the directory of the rank what is of no use to steps from this one on
  // (dump/pruned_log.h), once the log has doubled. Errors: io.
  Result<> prune_log(const std::filesystem::path& rank_directory, std::int64_t step);

  bool is_empty() const;
  bool lacks_flags() const;  // only what is flagged is recorded, and nothing is
  // Sentences for the user on rules and flags that matched no operator.
  std::vector<std::string> describe_unmatched() const;

 private:
  struct Key {
    std::int64_t graph_id;
    std::string_view type, name;  // of the operator that is the value
    bool operator==(const Key&) const = default;
  };
  struct Hash {
    std::size_t operator()(const Key& key) const;
  };
  struct Flag {
    bool enabled = false, is_unnamed = false;
  };
  static bool names_type(std::string_view text, std::string_view type);
  bool is_flagged(const model::Operator& op) const;
  void log(const DefinedOperator& op);
  void note_source(DefinedOperator& known, dump::LoggedOperator op);
  void describe_unmatched_flags(const std::vector<std::string_view>& names,
                                std::vector<std::string>& sentences) const;

  const bool only_flagged_;
  const RecordingState& state_;
  mutable std::mutex mutex_;  // guards the rest
  plan::OpSelector selector_;
  plan::ModelSelector models_;
  std::unordered_map<Key, std::unique_ptr<DefinedOperator>, Hash> operators_;
  std::map<std::string, Flag, std::less<>> flags_;  // set_dump(): by operator, type or scope
  dump::OperatorLogWriter log_writer_;
  bool log_dirty_ = false;
  std::uint64_t pruned_bytes_ = 0;  // of the log, when it was last pruned
};

}  // namespace opdump::capture
