// `opdump run -- COMMAND`, and the door to `opdump run MODEL.onnx`: the program runs as it is, in a child,
// with the hook in its environment. Its output, exit code and signals are its own.
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "base/file/file.h"
#include "base/text/text.h"
#include "cli/arguments.h"
#include "cli/python_package.h"
#include "cli/record/golden_data.h"
#include "cli/record/mindspore_run.h"
#include "cli/record/run_config.h"
#include "cli/record/run_models.h"
#include "cli/verb.h"
#include "terminal/output.h"

namespace opdump::cli {
namespace {

namespace fs = std::filesystem;

struct RunArguments {
  RecordingArguments recording;
  std::string device_format, compiled;
  bool best_effort = false;
  std::string compat;  // names with commas between
  std::vector<std::string> command;
};

volatile sig_atomic_t child_pid = 0;

// Signals sent to us are meant for the program. Those of the terminal reach it by themselves.
void forward_signal(int number, siginfo_t* info, void*) {
  if (child_pid > 0 && info->si_code <= 0) ::kill(child_pid, number);
}

constexpr std::array kForwarded{SIGINT, SIGQUIT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2};

// Names of --compat; python/opdump/_compat.py says what they stand for.
constexpr std::array<std::string_view, 4> kFamilies{"torchair", "npu_device", "dumper", "acl"};

Result<> check_compat(const RunArguments& arguments) {
  if (arguments.compat.empty()) return ok();
  for (const std::string_view name : split(arguments.compat, ','))
    if (std::ranges::find(kFamilies, name) == kFamilies.end())
      return Error(Code::usage, "--compat is \"" + std::string(name) + "\"; known are " + join_or(kFamilies));
  return ok();
}

// The recording writes to a file: + when it starts, - when it ends, ! when it could not start; m when the
// program imports MindSpore, which records itself. A second one
// has the messages of processes with another stderr than ours, which the program may read.
class RunReport {
 public:
  RunReport() {
    std::error_code failure;
    std::string pattern = (fs::temp_directory_path(failure) / "opdump-run-XXXXXX").string();
    if (failure) return;
    const Fd report(::mkstemp(pattern.data()));
    if (!report) return;
    path_ = pattern;
    const Fd messages(::open(messages_path().c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  }
  ~RunReport() { remove(); }
  // Also where a signal is about to end this process as it ended the program.
  void remove() {
    if (path_.empty()) return;
    ::unlink(path_.c_str());
    ::unlink(messages_path().c_str());
    path_.clear();
  }
  const std::string& path() const { return path_; }  // empty if no file could be made
  std::ptrdiff_t count(char kind) const {
    const auto text = read_file(path_, 1 << 20);
    return text ? std::ranges::count(*text, kind) : 0;
  }
  std::string messages() const {
    auto text = read_file(path_.empty() ? path_ : messages_path(), 16 << 20);
    return text ? std::move(*text) : "";
  }

 private:
  std::string messages_path() const { return path_ + ".messages"; }
  std::string path_;
};

Result<> set_environment(const RunArguments& arguments, const std::string& config, const RunReport& report) {
  OPDUMP_TRY(const fs::path package, find_python_package());
  // Not the directory of the package: the hook adds it where Python does not look there anyway.
  std::string path = (package / "opdump/inject").string();
  if (const char* old = std::getenv("PYTHONPATH"); old && *old) path.append(":").append(old);
  ::setenv("PYTHONPATH", path.c_str(), 1);
  if (!config.empty()) ::setenv("OPDUMP_CONFIG", fs::absolute(config).c_str(), 1);
  if (!arguments.compat.empty()) ::setenv("OPDUMP_COMPAT", arguments.compat.c_str(), 1);
  ::setenv("OPDUMP_RUN_REPORT", report.path().c_str(), 1);
  if (struct stat info{}; ::fstat(STDERR_FILENO, &info) == 0)
    ::setenv("OPDUMP_RUN_STDERR", (std::to_string(info.st_dev) + ":" + std::to_string(info.st_ino)).c_str(),
             1);
  const RecordingArguments& recording = arguments.recording;
  if (!recording.mode.empty()) ::setenv("OPDUMP_MODE", recording.mode.c_str(), 1);
  if (!recording.dialect.empty()) ::setenv("OPDUMP_DIALECT", recording.dialect.c_str(), 1);
  if (recording.strict) ::setenv("OPDUMP_STRICT", "1", 1);
  if (!arguments.compiled.empty()) ::setenv("OPDUMP_COMPILED", arguments.compiled.c_str(), 1);
  if (arguments.best_effort) ::setenv("OPDUMP_BEST_EFFORT", "1", 1);
  if (!arguments.device_format.empty()) ::setenv("OPDUMP_DEVICE_FORMAT", arguments.device_format.c_str(), 1);
  return ok();
}

// The child's part; returns only if the program could not be started.
void execute(const std::vector<std::string>& command) {
  std::vector<char*> words;
  words.reserve(command.size() + 1);
  for (const std::string& word : command) words.push_back(const_cast<char*>(word.c_str()));
  words.push_back(nullptr);
  ::execvp(words[0], words.data());
}

// Of a program that could not be started, as shells give them.
constexpr int kNotFound = 127, kNotExecutable = 126;

// "train.py: No such file or directory" would mislead, if it is there.
std::string describe_failure(const std::string& program, int error) {
  std::error_code ignored;
  if (program.ends_with(".py") && fs::is_regular_file(program, ignored))
    return program + " is not a program that can be started; write: python3 " + program;
  return program + ": " + std::generic_category().message(error);
}

struct Started {
  pid_t pid = 0;
  int error = 0;  // errno, if it could not be executed
};

Result<Started> start(const std::vector<std::string>& command) {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) return io_error("pipe", "create");
  const Fd reader(ends[0]);
  Fd writer(ends[1]);
  const pid_t pid = ::fork();
  if (pid < 0) return io_error(command[0], "fork");
  if (pid == 0) {
    execute(command);
    const int number = errno;
    ::_exit(::write(writer.get(), &number, sizeof number) < 0 ? kNotExecutable : kNotFound);
  }
  child_pid = pid;
  writer = Fd();
  int number = 0;
  if (::read(reader.get(), &number, sizeof number) <= 0) return Started{.pid = pid};
  ::waitpid(pid, nullptr, 0);
  return Started{.pid = pid, .error = number};
}

// Ends as the program ended: the shell sees its exit code, or the signal that killed it.
int pass_on(int status) {
  if (WIFEXITED(status)) return WEXITSTATUS(status);
  const int number = WTERMSIG(status);
  const rlimit no_core{0, 0};  // the program has left one already, if any
  ::setrlimit(RLIMIT_CORE, &no_core);
  ::signal(number, SIG_DFL);
  ::raise(number);
  return 128 + number;
}

void print_report(const RunReport& report, bool has_config) {
  if (report.path().empty()) return;  // nothing is known
  const std::ptrdiff_t started = report.count('+'), ended = report.count('-');
  if (started == 0 && report.count('!') > 0) return;  // it could not start, and has said why
  if (started == 0 && report.count('m') > 0) return;
  if (started == 0)
    terminal::print_error(std::string("nothing was dumped: the program did not ") +
                          (has_config ? "import torch or TensorFlow" : "request a dump") +
                          " (Python with -I, -E or -S does not load opdump: leave these options out)");
  else if (ended < started)
    terminal::print_error(
        "the recording was cut short: the files written so far are valid, the rest is missing (see "
        "opdump_status.json)");
}

constexpr const char* kFirstSteps =
    "a program is expected. Record it, record it again after a change, and compare the two:\n\n"
    "  opdump run -o golden -- python3 train.py\n"
    "  opdump run -o actual -- python3 train.py\n"
    "  opdump compare golden actual\n\n"
    "opdump run --help lists what else can be recorded.";

}  // namespace

Result<int> run_run(std::span<const char* const> args) {
  if (args.empty()) return Error(Code::usage, kFirstSteps);
  if (names_model(args)) return run_models(args);
  RunArguments arguments;
  CLI::App app("Runs a program and dumps what its operators read and write.", "opdump run");
  add_recording_options(app, arguments.recording);
  app.add_option(
         "--compat", arguments.compat,
         "provide the Python modules torchair, npu_device, torch.utils.dumper or acl if the originals are "
         "missing: torchair,npu_device,dumper,acl; the program uses them to configure its dump")
      ->type_name("NAMES");
  app.add_option("--device-format", arguments.device_format,
                 "layouts to store tensors in, for acl.json: NC1HWC0,FRACTAL_NZ,...")
      ->type_name("FORMATS");
  app.add_option(
         "--compiled", arguments.compiled,
         "regions of torch.compile: checked runs and records them operator by operator, and compares the "
         "results with those of the generated kernels (default); aten does not compare; opaque runs the "
         "generated kernels and records the inputs and outputs of each region")
      ->check(CLI::IsMember({"checked", "aten", "opaque"}));
  app.add_flag("--best-effort", arguments.best_effort,
               "run the program also if there is no recorder for its PyTorch or TensorFlow");
  app.add_option("COMMAND", arguments.command, "the program and its arguments")->required();
  app.positionals_at_end();
  app.footer(
      "Examples:\n  opdump run -o golden -- python3 train.py\n"
      "  opdump run -o golden --steps 0,10-20 --ops 'conv|addmm' --module layers.3 -- python3 train.py\n"
      "  opdump run -o golden --steps all --stats --budget 20G -- python3 train.py\n"
      "  opdump run -o actual --config golden/opdump_config.json -- python3 train.py\n"
      "  opdump run --config data_dump.json -- python3 train.py --epochs 1\n"
      "  opdump run --config acl.json model.onnx --input data=image.npy   (opdump run model.onnx --help)\n"
      "  opdump run --golden golden -- python3 infer.py\n"
      "  opdump run --compat torchair -- python3 train_with_torchair.py\n"
      "  MINDSPORE_DUMP_CONFIG=$PWD/data_dump.json opdump run -- python3 train.py\n\n"
      "The exit status is the program's own; 2 if the configuration is wrong, its folder already has a "
      "dump or cannot be created, or there is no recorder, and the program was not run; 127 if there is no "
      "such program, 126 if "
      "it cannot be "
      "executed.");
  if (auto finished = parse_arguments(app, args)) return std::move(*finished);

  OPDUMP_CHECK_OK(check_compat(arguments));
  OPDUMP_TRY(const GoldenData golden, GoldenData::begin(arguments.recording));
  // With --compat the program may have its own configuration.
  OPDUMP_TRY(RunConfig config, find_config(arguments.recording, arguments.compat.empty()));
  RunReport report;
  OPDUMP_CHECK_OK(set_environment(arguments, config.path, report));
  std::error_code ignored;
  const bool has_folder = fs::exists(config.plan.root, ignored);
  OPDUMP_CHECK_OK(prepare_recording(config, arguments.recording));
  OPDUMP_TRY(const MindsporeRun mindspore, MindsporeRun::begin(config.plan));

  struct sigaction forward {};
  forward.sa_sigaction = forward_signal;
  forward.sa_flags = SA_SIGINFO | SA_RESTART;
  for (const int number : kForwarded) {
    struct sigaction inherited {};
    ::sigaction(number, nullptr, &inherited);
    if (inherited.sa_handler == SIG_IGN) continue;  // of nohup, say: the program inherits that, too
    ::sigaction(number, &forward, nullptr);
  }
  OPDUMP_TRY(const Started started, start(arguments.command));
  if (started.error != 0) {
    terminal::print_error(describe_failure(arguments.command[0], started.error));
    if (!config.text.empty()) fs::remove(config.path, ignored);
    if (!has_folder) fs::remove(config.plan.root, ignored);  // nothing is in it
    return started.error == ENOENT ? kNotFound : kNotExecutable;
  }
  int status = 0;
  while (::waitpid(started.pid, &status, 0) < 0 && errno == EINTR) {
  }
  terminal::print_log(report.messages());
  if (config.plan.is_empty && !config.path.empty())
    terminal::print_error("nothing was dumped: " + config.path + " asks for nothing");
  else
    print_report(report, !config.path.empty());
  if (report.count('m') > 0)
    if (auto finished = MindsporeRun::finish(config.plan); !finished)
      terminal::print_error("the dump of MindSpore is not complete: " + finished.error().message());
  report.remove();
  OPDUMP_TRY(const int converted, golden.finish());
  return status == 0 ? converted : pass_on(status);
}

}  // namespace opdump::cli
