// `opdump run --against GOLDEN`: a recording is compared with another one while it grows.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/result.h"
#include "cli/record/growing.h"
#include "cli/record/recorded_program.h"
#include "cli/record/run_config.h"
#include "dump/read/dump_set.h"

namespace opdump::cli {

struct AgainstArguments {
  std::string golden;  // a dump; empty: nothing is compared
  bool stop_at_first = false, check = false;
};
void add_against_options(CLI::App& app, AgainstArguments& arguments);

class Against {
 public:
  // Opens golden. What the user leaves open of the recording becomes that of golden: its configuration, and a
  // new folder. Errors: usage; those of DumpSet::open.
  static Result<Against> begin(const AgainstArguments& arguments, RecordingArguments& recording);

  // To be called often while the program runs. Says which operator is the first bad one once that is known.
  // True if the program should end then.
  bool poll();
  // When the program has ended: compares all, says the answer, and makes tensors that equal golden's links to
  // them. Returns the exit status if the program ends well; one that was stopped here does.
  Result<int> finish(ProgramRun& run) const;

 private:
  struct EarlyFinding {
    std::int64_t step = 0;
    std::string sentence{};
  };
  // The first bad operator, of the steps that were not seen to be the same before.
  std::optional<EarlyFinding> compare_later(dump::DumpSet& actual);
  Result<int> conclude() const;
  Against(AgainstArguments arguments, dump::DumpSet golden, std::filesystem::path actual);

  AgainstArguments arguments_;
  dump::DumpSet golden_;
  std::filesystem::path actual_;
  Growth growth_;
  SameSoFar same_;
  bool has_found_ = false;
};

// Whether `word` is the one option of them that has a value.
bool is_against_option(std::string_view word);

// `opdump run --against GOLDEN MODEL.onnx`: records the model in a process of its own, as a program is, by
// the same arguments `args` without these options. Returns the exit status.
Result<int> run_against(std::span<const char* const> args, const AgainstArguments& arguments,
                        RecordingArguments recording);

}  // namespace opdump::cli
