// PyTorch 1.5's torch.utils.dumper: writes every operator and every backward node to one HDF5 file, or loads
// their inputs from one, or checks them for overflow (torch_tf_frontends.md part D). One object per process,
// as in the original: the numbers of the records continue from file to file.
//
// If operators call others, the outermost one is recorded. The Python part reports backward nodes before and
// after they run; the operators that a node calls belong to it.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "dumper/dumper_kind.h"
#include "dumper/dumper_load.h"
#include "dumper/dumper_values.h"
#include "dumper/fresh_memory.h"
#include "hooks.h"
#include "operator_kind.h"

namespace opdump::torch_adapter {

class Dumper : public Interceptor {
 public:
  enum class Mode { off = 0, dump = 1, load = 2, check_overflow = 3 };

  struct Options {
    Mode mode = Mode::off;
    std::string dump_path;  // created with the first record
    std::string load_path;
    bool with_acl =
        false;  // operators that got their inputs from the file are shown to the recording under way
    FileStyle style;
  };

  // Throws c10::Error: the file to be loaded cannot be read.
  void start(const Options& options);
  // Ends the mode and closes the file. What was lost: a text, or nothing.
  std::string stop();

  void run(const c10::OperatorHandle& op, torch::jit::Stack* stack, const Call& call) override;

  // Around a backward node of this thread.
  void begin_node(const std::string& name, NamedValues inputs);
  // True if it overflowed.
  bool end_node(const at::ArrayRef<c10::IValue>& grad_inputs);
  // It ended with an exception, or never ran.
  void abandon_node();

  // In a forked child: the file is the parent's, and so are its threads.
  void abandon();

  // Part of a record is not in the file: the program goes on, and the file says that it is incomplete.
  void lose(const std::string& name, const std::string& reason);

 private:
  struct Record {
    std::string name;
    std::int64_t id = -1;  // -1: nothing is written
    NamedValues inputs;    // as they were, in overflow mode
  };
  Record begin(const std::string& name, NamedValues inputs);
  bool end(Record& record, NamedValues outputs);
  bool end_checked(Record& record, const NamedValues& outputs);
  void run_unrecorded(const OperatorKind& known, const DumperKind& kind, torch::jit::Stack* stack,
                      const Call& call);
  void note_writes(const OperatorKind& kind, c10::ArrayRef<c10::IValue> arguments);
  void note_fresh(c10::ArrayRef<c10::IValue> returns);
  void mark_uninitialised(NamedValues& values) const;
  template <typename Observe>
  void guard(const std::string& name, const Observe& observe) noexcept;
  void say(const std::string& line) const;
  void say(const Record& record, const char* what) const;
  void write(const Record& record, const char* side, const NamedValues& values);
  opdump_status flush_at_times();
  struct Thread;
  static Thread& this_thread();

  std::recursive_mutex mutex_;  // guards everything below
  Options options_;
  std::int64_t records_ = 0;  // of the whole process
  FreshMemory fresh_;
  opdump_h5* file_ = nullptr;
  struct Flushes {
    int unflushed = 0;  // writes
    std::chrono::steady_clock::time_point next{};
  } flushes_;
  std::unique_ptr<LoadFile> load_file_;
  std::string fault_;   // of the file; not empty: nothing more is written
  std::string losses_;  // the first one
  struct Console {
    std::uint64_t device = 0, inode = 0;
    bool operator==(const Console&) const = default;
  };
  static std::optional<Console> find_console();
  std::optional<Console> console_;  // where the lines go; nothing: nowhere
};

// The one of this process.
Dumper& dumper();

}  // namespace opdump::torch_adapter
