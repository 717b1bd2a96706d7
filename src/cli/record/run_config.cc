#include "cli/record/run_config.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <system_error>
#include <utility>

#include "base/file/file.h"
#include "base/file/file_replacement.h"
#include "base/process/launcher.h"
#include "base/text/text.h"
#include "dialect/dialects.h"
#include "dump/write/budget.h"
#include "dump/write/folder/existing_dump.h"
#include "dump/write/folder/recording_folder.h"
#include "terminal/output.h"

namespace opdump::cli {
namespace {

namespace fs = std::filesystem;

constexpr std::array<std::string_view, 10> kOptionsWithValue{"-o",       "--output", "--steps",  "--ops",
                                                             "--module", "--budget", "--config", "--dialect",
                                                             "--mode",   "--golden"};

// What this process's children record, as far as the environment says.
Result<dump::FolderPart> part_of_process(const fs::path& root) {
  OPDUMP_TRY(const auto rank, find_launched_rank());
  OPDUMP_TRY(const auto device, find_launched_device());
  if (!rank) return dump::FolderPart{root, std::nullopt, std::nullopt};  // it may start any
  return dump::FolderPart{root, rank, device.value_or(0)};
}

// CANN has a directory of another time for each run, so that none meets the dump of another one.
Result<dump::Existing> choose_existing(const plan::DumpPlan& plan, const RecordingArguments& arguments) {
  if (arguments.force) return dump::Existing::replace;
  if (arguments.append) return dump::Existing::append;
  const auto text = dialect::process_environment("OPDUMP_EXISTING");
  const bool has_times = plan.scheme == plan::SchemeKind::acl_tree && arguments.request.output.empty();
  if (!text || text->empty()) return has_times ? dump::Existing::append : dump::Existing::refuse;
  if (const auto existing = dump::parse_existing(*text)) return *existing;
  return Error(Code::usage,
               "OPDUMP_EXISTING is '" + *text + R"('; expected "refuse", "replace" or "append")");
}

Result<dialect::DialectOptions> read_options(const RecordingArguments& arguments) {
  dialect::DialectOptions options;
  options.strict = arguments.strict;
  if (!arguments.mode.empty()) {
    OPDUMP_TRY(options.mode, dialect::parse_mode(arguments.mode));
  }
  return options;
}

std::string config_in_environment() {
  for (const char* name : {"OPDUMP_CONFIG", "MINDSPORE_DUMP_CONFIG"})
    if (auto value = dialect::process_environment(name); value && !value->empty()) return *value;
  return {};
}

// The options that describe a recording without a configuration, and only that.
Result<> check_request(const RecordingArguments& arguments) {
  const dialect::Request& request = arguments.request;
  const std::pair<const char*, bool> options[] = {
      {"--steps", !request.steps.empty()},     {"--ops", !request.ops.empty()},
      {"--module", !request.module.empty()},   {"--budget", !request.budget.empty()},
      {"--tensors", request.tensors},          {"--stats", request.statistics},
      {"--fingerprints", request.fingerprints}};
  for (const auto& [name, is_given] : options) {
    if (is_given && !arguments.config.empty())
      return Error(Code::usage, std::string(name) + " excludes --config: write it in the configuration");
    if (is_given && request.output.empty())
      return Error(Code::usage, std::string(name) + " requires -o FOLDER; see opdump run --help");
  }
  return ok();
}

// The configuration made of -o: of options, or of --config with another folder.
Result<RunConfig> make_config(const RecordingArguments& arguments, const dialect::DialectOptions& options) {
  RunConfig config;
  Result<std::string> text = Error(Code::internal, "");
  if (arguments.config.empty()) {
    text = dialect::make_config(arguments.request);
  } else {
    OPDUMP_TRY(const plan::DumpPlan given, dialect::load_plan(arguments.config, arguments.dialect, options));
    text = dialect::replace_output(given.config_text, arguments.request.output);
  }
  if (!text) return Error(Code::usage, "--" + text.error().message());
  config.path = (fs::absolute(arguments.request.output) / dialect::kConfigName).string();
  config.text = std::move(*text);
  OPDUMP_TRY(config.plan, dialect::make_plan(config.path, config.text, arguments.dialect, options));
  return config;
}

// What a recording with a budget is going to do.
void announce(const plan::DumpPlan& plan, std::uint64_t budget) {
  const char* const content = plan.content == plan::Content::tensor       ? "tensors"
                              : plan.fingerprints                         ? "fingerprints"
                              : plan.content == plan::Content::statistics ? "statistics"
                                                                          : "tensors and statistics";
  terminal::print_error(std::string("recording ") + content + " of " + plan.steps.describe() + " to " +
                        plan.root.string() + ", at most " + format_bytes(budget) +
                        (plan.budget_bytes == plan::kFifthOfSpace ? " (--budget SIZE changes that)" : ""));
}

// The outermost of the directories that are to be made for `root`; empty if it is there.
fs::path first_missing(const fs::path& root) {
  std::error_code ignored;
  fs::path missing;
  for (fs::path path = root; !path.empty() && !fs::exists(path, ignored) && path != path.parent_path();
       path = path.parent_path())
    missing = path;
  return missing;
}

constexpr std::uint64_t kMostConfig = 16 << 20;

}  // namespace

class FolderPreparation {
 public:
  FolderPreparation(const RunConfig& config, const RecordingArguments& arguments)
      : config_(config), plan_(config.plan), arguments_(arguments) {}

  Result<PreparedFolder> prepare() {
    if (arguments_.check_reads) ::setenv("OPDUMP_CHECK_READS", "1", 1);
    if (plan_.budget_bytes) OPDUMP_CHECK_OK(dump::check_budget(*plan_.budget_bytes, plan_.root));
    folder_.root_ = plan_.root;
    folder_.is_pending_ = true;
    OPDUMP_TRY(const std::uint64_t replaced_bytes, make_room());
    if (!config_.text.empty()) {
      // A wrong folder is a wrong argument: no status of ours but 2 comes before the program's.
      if (auto written = write_config(); !written)
        return Error(Code::usage, "--output: " + written.error().message());
    }
    if (plan_.budget_bytes && arguments_.golden.empty())
      announce(plan_, dump::Budget(*plan_.budget_bytes, plan_.root, replaced_bytes).left());
    return std::move(folder_);
  }

 private:
  // Returns how much room what is replaced takes until then.
  Result<std::uint64_t> make_room() {
    OPDUMP_TRY(const dump::Existing existing, choose_existing(plan_, arguments_));
    ::setenv("OPDUMP_RUN_ID", dump::make_run_id().c_str(), 1);
    if (existing != dump::Existing::refuse)
      ::setenv("OPDUMP_EXISTING", existing == dump::Existing::replace ? "replace" : "append", 1);
    OPDUMP_TRY(const dump::FolderPart part, part_of_process(plan_.root));
    if (plan_.is_empty || existing == dump::Existing::append) return 0;
    if (existing == dump::Existing::replace) {
      folder_.replaced_ = part;
      return dump::begin_to_replace(part);
    }
    if (const auto found = dump::find_dump(part, {})) return dump::dump_exists(*found);
    return 0;
  }

  Result<> write_config() {
    folder_.config_path_ = config_.path;
    folder_.first_made_ = first_missing(plan_.root);
    if (auto earlier = read_file(config_.path, kMostConfig)) folder_.earlier_config_ = std::move(*earlier);
    OPDUMP_CHECK_OK(make_directories(plan_.root, 0700));
    return write_file_atomic(config_.path, config_.text, 0600);
  }

  const RunConfig& config_;
  const plan::DumpPlan& plan_;
  const RecordingArguments& arguments_;
  PreparedFolder folder_;
};

PreparedFolder& PreparedFolder::operator=(PreparedFolder&& other) noexcept {
  std::swap(root_, other.root_);
  std::swap(config_path_, other.config_path_);
  std::swap(first_made_, other.first_made_);
  std::swap(earlier_config_, other.earlier_config_);
  std::swap(replaced_, other.replaced_);
  std::swap(is_pending_, other.is_pending_);
  return *this;
}

void PreparedFolder::keep() {
  // Of a program that recorded nothing, what was to be replaced is all there is.
  if (is_pending_ && replaced_ && dump::has_dump_aside(*replaced_)) {
    if (!dump::find_dump(*replaced_, {})) return;
    dump::discard_dump_aside(*replaced_);
  }
  is_pending_ = false;
}

PreparedFolder::~PreparedFolder() {
  if (!is_pending_) return;
  if (replaced_)
    if (auto back = dump::put_dump_back(*replaced_); !back) terminal::print_error(back.error().message());
  if (config_path_.empty()) return;
  std::error_code ignored;
  if (!earlier_config_)
    fs::remove(config_path_, ignored);
  else if (auto written = write_file_atomic(config_path_, *earlier_config_, 0600); !written)
    terminal::print_error(written.error().message());
  if (first_made_.empty()) return;
  for (fs::path made = root_; fs::remove(made, ignored) && made != first_made_;) made = made.parent_path();
}

bool is_recording_option(std::string_view word) {
  return std::ranges::find(kOptionsWithValue, word) != kOptionsWithValue.end();
}

void add_recording_options(CLI::App& app, RecordingArguments& arguments) {
  dialect::Request& request = arguments.request;
  app.add_option("-o,--output", request.output,
                 "record into this folder; with --config: instead of the folder that it names")
      ->type_name("FOLDER");
  app.add_option(
         "--golden", arguments.golden,
         "write what each operator of step 0 (or of --steps N) returns into this folder, as msaccucmp "
         "compares it, and no dump")
      ->type_name("FOLDER");
  app.add_option("--steps", request.steps, "steps to record with -o: 0,10-20 or all; default: 0")
      ->type_name("STEPS");
  app.add_option("--ops", request.ops, "only operators with a type that this matches: 'conv|addmm'")
      ->type_name("REGEX");
  app.add_option("--module", request.module,
                 "only operators of modules that this matches, and of modules inside them: 'layers.3'")
      ->type_name("REGEX");
  app.add_flag("--tensors", request.tensors, "record tensors; the default");
  app.add_flag("--stats", request.statistics, "record statistics instead of tensors; with --tensors both");
  app.add_flag("--fingerprints", request.fingerprints,
               "record fingerprints instead: a hash and statistics of each tensor, for opdump diff");
  app.add_option("--budget", request.budget,
                 "the most to write: 512M, 20G, or free for what the disk has, less 5 %; default: a fifth of "
                 "that, 10 GiB at most")
      ->type_name("SIZE");
  app.add_option(
         "--config", arguments.config,
         "a configuration instead of these options; without -o, default: the file in OPDUMP_CONFIG or "
         "MINDSPORE_DUMP_CONFIG")
      ->type_name("FILE");
  app.add_option("--dialect", arguments.dialect, "language of the file, if its content is ambiguous")
      ->type_name("NAME");
  app.add_option("--mode", arguments.mode,
                 "the target machine: o0, o2, cpu, gpu, ge; default: depends on the file")
      ->type_name("MACHINE");
  app.add_flag("--strict", arguments.strict,
               "reject what the original rejects, even where its documentation allows it");
  auto* const force =
      app.add_flag("--force", arguments.force, "replace the existing dump in the folder; other files stay");
  app.add_flag("--append", arguments.append, "add to the existing dump in the folder, as the original does")
      ->excludes(force);
  app.add_flag("--check-reads", arguments.check_reads,
               "hash what is read, and name the operators between which memory was changed unnoticed");
}

Result<RunConfig> find_config(const RecordingArguments& arguments, bool needs_one) {
  OPDUMP_CHECK_OK(check_request(arguments));
  OPDUMP_TRY(const dialect::DialectOptions options, read_options(arguments));
  if (!arguments.request.output.empty()) return make_config(arguments, options);
  RunConfig config;
  config.path = arguments.config.empty() ? config_in_environment() : arguments.config;
  if (config.path.empty() && needs_one)
    return Error(
        Code::usage,
        "where to record is missing: add -o FOLDER, or --config data_dump.json, or set "
        "MINDSPORE_DUMP_CONFIG; a program that uses torchair, npu_device, torch.utils.dumper or acl has its "
        "own configuration with --compat");
  if (config.path.empty()) return config;
  OPDUMP_TRY(config.plan, dialect::load_plan(config.path, arguments.dialect, options));
  return config;
}

Result<PreparedFolder> prepare_recording(const RunConfig& config, const RecordingArguments& arguments) {
  return FolderPreparation(config, arguments).prepare();
}

}  // namespace opdump::cli
