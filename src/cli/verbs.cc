#include <array>
#include <exception>
#include <optional>
#include <string>
#include <vector>

#include "base/text/text.h"
#include "base/version.h"
#include "cli/verb.h"
#include "dialect/dialects.h"
#include "group/group.h"
#include "msaccucmp/verbs/msaccucmp.h"
#include "terminal/output.h"
#include "terminal/pager.h"

namespace opdump::cli {
namespace {

constexpr std::array kVerbs{
    Verb{"diff", "Name the operator by which two programs part", run_diff, Together::leader, false, true},
    Verb{"bisect", "Find the first commit by which a program computes something else", run_bisect,
         Together::leader, false, true},
    Verb{"watch", "Run a program and name the operator that makes the first NaN", run_watch, Together::each,
         false, true},
    Verb{"run", "Run a program and dump what its operators read and write", run_run, Together::each},
    Verb{"plan", "Check a dump configuration and print what it asks for", run_plan, Together::leader, true},
    Verb{"ls", "List what is in a dump", run_ls, Together::leader, true},
    Verb{"show", "Show the tensors of an operator", run_show, Together::leader, true},
    Verb{"ir", "List the graphs of a dump, and the operators of a source line", run_ir, Together::leader,
         true},
    Verb{"graph", "Find and convert the graphs that CANN's graph engine dumps", run_graph, Together::leader,
         true},
    Verb{"compare", "Compare two dumps and name the first operator that went wrong", run_compare,
         Together::shared, true, true},
    Verb{"weights", "Compare the weights of two checkpoints, models or dumps", run_weights, Together::leader,
         true, true},
    Verb{"rules", "List the rules by which a comparison reasons", run_rules, Together::leader, true},
    Verb{"blame", "Run differing operators again and name the one that is wrong", run_blame, Together::leader,
         false, true},
    Verb{"reproduce", "Write a script that shows the error of an operator", run_reproduce},
    Verb{"report", "Write a comparison, or one dump, as a page for a browser", run_report},
    Verb{"view", "Show a comparison, or one dump, in the browser", run_view},
    Verb{"export", "Write a comparison for Perfetto or Model Explorer", run_export},
    Verb{"index", "Save the contents of one dump to a file for query, report and view", run_index},
    Verb{"query", "Run an SQL query on a saved comparison", run_query, Together::leader, true},
    Verb{"convert", "Write the tensors of a dump as .npy, .npz, .safetensors, text, ...", run_convert,
         Together::shared},
    Verb{"doctor", "Say what is found here, and what to do about problems", run_doctor},
    Verb{"cache", "List or remove the recorders that were built here", run_cache},
    Verb{"selftest", "Judge what MindSpore or CANN dumped of an example", run_selftest, Together::leader,
         false, true},
    Verb{"completion", "Print what lets a shell complete verbs and options", run_completion},
    Verb{"msaccucmp", "Convert and compare CANN's dumps as msaccucmp.py does", msaccucmp::run,
         Together::shared, false, true},
};

#if defined(__clang__)
constexpr std::string_view kCompiler = __VERSION__;
#else
constexpr std::string_view kCompiler = "GCC " __VERSION__;
#endif

Result<int> unknown_verb(std::string_view word) {
  std::vector<std::string_view> names;
  names.reserve(std::size(kVerbs));
  for (const Verb& verb : kVerbs) names.push_back(verb.name);
  std::string message = word.starts_with('-') ? "there is no option " : "there is no verb ";
  message.append(word);
  if (const auto nearest = find_nearest(word, names))
    message.append(" (did you mean ").append(*nearest).append("?)");
  return Error(Code::usage, message + "; see opdump --help");
}

Result<int> print_and_succeed(const std::string& text, std::span<const char* const> rest) {
  if (!rest.empty()) return Error(Code::usage, "unexpected argument: " + std::string(rest[0]));
  terminal::print(text);
  return 0;
}

Result<int> help_of(std::string_view word) {
  static constexpr std::array<const char*, 1> help{"--help"};
  for (const Verb& verb : kVerbs)
    if (verb.name == word) return verb.run(std::span<const char* const>(help));
  return unknown_verb(word);
}

Result<int> dispatch(std::span<const char* const> args) {
  if (args.empty()) return Error(Code::usage, "a verb is expected\n\n" + std::string(trim(help_text())));
  const std::string_view word = args[0];
  const auto rest = args.subspan(1);
  if (word == "--help" || word == "-h") return print_and_succeed(help_text(), rest);
  if (word == "help" && !rest.empty()) return help_of(rest[0]);
  if (word == "help") return print_and_succeed(help_text(), rest);
  if (word == "--version" || word == "-V") return print_and_succeed(version_text(), rest);
  for (const Verb& verb : kVerbs) {
    if (verb.name != word) continue;
    if (verb.together == Together::leader && group::process_rank() != 0) return 0;
    terminal::end_when_unread(verb.judges ? static_cast<int>(Exit::incomplete) : 0);
    // mpirun lets processes believe that they write to a terminal.
    std::optional<terminal::Pager> pager;
    if (verb.pages && !group::is_one_of_several()) pager.emplace();
    auto status = verb.run(rest);
    if (status) OPDUMP_CHECK_OK(terminal::flush_output());
    return status;
  }
  return unknown_verb(word);
}

// Libraries throw (out of memory, a path that is no text): the shell still gets a message and a status.
Result<int> guarded(std::span<const char* const> args) {
  try {
    OPDUMP_TRY(const int status, dispatch(args));
    OPDUMP_CHECK_OK(terminal::flush_output());
    return status;
  } catch (const std::exception& e) {
    return Error(Code::internal, e.what());
  }
}

}  // namespace

std::span<const Verb> verbs() { return kVerbs; }

Exit exit_of(Code code) {
  switch (code) {
    case Code::usage:
    case Code::config:
      return Exit::usage;
    case Code::not_found:
    case Code::io:
    case Code::corrupt:
    case Code::unsupported:
    case Code::limit:
    case Code::internal:
      return Exit::incomplete;
  }
  return Exit::incomplete;
}

std::string help_text() {
  std::string text =
      "Dumps what the operators of a neural network read and write, and compares dumps.\n\n"
      "usage: opdump VERB ...\n\n";
  for (const Verb& verb : kVerbs) {
    text.append("  ").append(verb.name).append(12 - verb.name.size(), ' ');
    text.append(verb.summary).append("\n");
  }
  text.append(
      "\nopdump help VERB explains a verb; opdump --version prints the version.\n"
      "Exit status: 0 done or equal, 1 different, 2 wrong usage, 3 no complete answer.\n");
  return text;
}

std::string version_text() {
  std::string text = "opdump ";
  text.append(kVersion).append("\n");
  text.append("configurations:");
  for (const dialect::Dialect& dialect : dialect::dialects()) text.append(" ").append(dialect.name);
  text.append("\ncompiler: ").append(kCompiler).append("\n");
  return text;
}

int run_command_line(std::span<const char* const> args) {
  auto status = guarded(args);
  if (status) return *status;
  terminal::print_error(status.error().message());
  return static_cast<int>(exit_of(status.error().code()));
}

}  // namespace opdump::cli
