#include "capture/session.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <functional>
#include <set>
#include <thread>
#include <utility>

#include "base/version.h"
#include "capture/call.h"
#include "capture/clock.h"
#include "capture/run_identity.h"
#include "dump/write/acl_tree.h"
#include "dump/write/call_data.h"
#include "dump/write/model_tree.h"
#include "dump/write/rank_tree.h"
#include "dump/write/run_metadata.h"

namespace opdump::capture {
namespace {

// Up to this size the statistics of a tensor are taken faster than known ones are found.
constexpr std::uint64_t kTinyBytes = 8 * 1024;

JobNeeds needs_of(const plan::DumpPlan& plan) {
  JobNeeds needs;
  needs.file = plan.content != plan::Content::statistics;
  if (plan.content == plan::Content::tensor) return needs;
  for (const plan::Statistic statistic : plan.statistics) {
    switch (statistic) {
      case plan::Statistic::max:
      case plan::Statistic::min:
        needs.statistics.extremes = true;
        break;
      case plan::Statistic::avg:
        needs.statistics.sum = true;
        break;
      case plan::Statistic::l2norm:
        needs.statistics.squares = true;
        break;
      case plan::Statistic::md5:
        needs.md5 = true;
        break;
      default:
        needs.statistics.counts = true;
    }
  }
  return needs;
}

Result<std::unique_ptr<dump::SchemeWriter>> open_acl_scheme(const plan::DumpPlan& plan,
                                                            const SessionOptions& options,
                                                            const std::string& time_directory) {
  const auto has = [&](plan::Statistic statistic) {
    return std::ranges::find(plan.statistics, statistic) != plan.statistics.end();
  };
  return dump::open_acl_tree(
      {.root = plan.root,
       .rank = options.rank,
       .device = options.device_id,
       .time_directory = time_directory,
       .statistics = plan.content == plan::Content::statistics,
       .columns = {.max = has(plan::Statistic::max),
                   .min = has(plan::Statistic::min),
                   .avg = has(plan::Statistic::avg),
                   .nan = has(plan::Statistic::nan_count),
                   .negative_inf = has(plan::Statistic::negative_inf_count),
                   .positive_inf = has(plan::Statistic::positive_inf_count),
                   .l2norm = has(plan::Statistic::l2norm)},
       .exceptions = plan.debug == plan::DebugMode::exception,
       .newer_overflow_record = plan.overflow_record == plan::OverflowRecord::new_devices,
       .device_formats = plan.device_formats,
       .sink = options.write_file});
}

// Whether hard links work there. Some network and FAT file systems refuse them.
bool links_work(const std::filesystem::path& directory) {
  const std::filesystem::path status = directory / dump::kOperatorLogName;
  const std::filesystem::path probe = directory / (".link" + std::to_string(::getpid()));
  if (::link(status.c_str(), probe.c_str()) != 0) return false;
  ::unlink(probe.c_str());
  return true;
}

}  // namespace

std::size_t Session::OperatorHash::operator()(const OperatorKey& key) const {
  return std::hash<std::string_view>()(key.name) ^
         static_cast<std::size_t>(key.graph_id) * 0x9E3779B97F4A7C15u;
}

Result<std::unique_ptr<dump::SchemeWriter>> Session::open_scheme(const plan::DumpPlan& plan,
                                                                 const SessionOptions& options,
                                                                 const std::string& time_directory) {
  if (plan.scheme == plan::SchemeKind::acl_tree) return open_acl_scheme(plan, options, time_directory);
  std::vector<std::string> columns;
  if (plan.content != plan::Content::tensor)
    for (const plan::Statistic statistic : plan.statistics)
      columns.emplace_back(plan::statistic_table()[static_cast<std::size_t>(statistic)].column);
  if (options.write_file)
    return Error(Code::usage, "write_file is for plans of the dialect acl; this one is of " + plan.dialect);
  if (plan.scheme == plan::SchemeKind::rank_tree)
    return dump::open_rank_tree(
        {plan.root, plan.net_name, options.rank, std::move(columns), plan.class_name_dtypes});

  using Scene = dump::ModelTreeOptions::Scene;
  constexpr std::array kScenes{Scene::dump, Scene::overflow, Scene::exception};
  constexpr std::array kModes{"all", "input", "output"};
  dump::ModelTreeOptions tree{.root = plan.root,
                              .net_name = plan.net_name,
                              .rank = options.rank,
                              .device = options.device_id,
                              .statistic_columns = std::move(columns),
                              .is_bin = plan.file_format == plan::FileFormat::bin,
                              .step_first = plan.scheme == plan::SchemeKind::model_tree,
                              .time_directory = time_directory,
                              .scene = kScenes[static_cast<std::size_t>(plan.debug)],
                              .dump_mode = kModes[static_cast<std::size_t>(plan.sides)]};
  return dump::open_model_tree(std::move(tree));
}

// The status comes before everything else that the recording makes.
Result<Session::Beginnings> Session::begin_recording(const plan::DumpPlan& plan,
                                                     const SessionOptions& options) {
  Beginnings made;
  made.status.opdump_version = kVersion;
  made.status.process = options.process;
  made.status.runtime = options.runtime;
  made.status.config_path = plan.config_path.string();
  made.status.pid = ::getpid();
  made.status.started_us = now_us();
  made.status.warnings = plan.warnings;
  if (options.write_file) {
    OPDUMP_TRY(made.scheme, open_scheme(plan, options, dump::format_local_time(made.status.started_us)));
    return made;
  }
  made.status.run_id = begin_run();
  OPDUMP_TRY(made.place, dump::RecordingPlace::claim({.root = plan.root,
                                                      .rank = options.rank,
                                                      .device = options.device_id,
                                                      .by_time = plan.scheme != plan::SchemeKind::rank_tree,
                                                      .existing = options.existing},
                                                     made.status));
  OPDUMP_TRY(made.scheme, open_scheme(plan, options, made.status.time_directory));
  OPDUMP_TRY(made.log_writer, dump::OperatorLogWriter::open(dump::rank_directory(plan.root, options.rank)));
  return made;
}

Result<std::unique_ptr<Session>> Session::open(plan::DumpPlan plan, SessionOptions options) {
  OPDUMP_TRY(Beginnings beginnings, begin_recording(plan, options));
  if (options.threads == 0) {
    // Threads that write files mostly wait for the disk; threads that compute take cores from the program.
    const unsigned cores = std::thread::hardware_concurrency();
    options.threads = std::clamp(plan.content == plan::Content::statistics ? cores / 2 : cores, 1u, 4u);
  }
  std::unique_ptr<Session> session(new Session(std::move(plan), std::move(options), std::move(beginnings)));
  OPDUMP_CHECK_OK(session->write_first_files());
  for (const std::string& warning : session->status_.warnings) session->say(LogLevel::warning, warning);
  if (session->place_.was_added() && session->options_.tells_of_addition)
    session->say(LogLevel::warning,
                 session->rank_directory_.string() +
                     ": has a dump already; this recording is added to it, as the original "
                     "does");
  session->set_step(0);
  return session;
}

Result<> Session::write_first_files() {
  if (!keeps_files()) return ok();
  OPDUMP_CHECK_OK(place_.write(status_));
  if (plan_.run_metadata)
    OPDUMP_CHECK_OK(dump::write_run_metadata(rank_directory_, plan_.config_text,
                                             plan_.class_name_dtypes ? "CPU" : "GPU"));
  if (!needs_.file || links_work(rank_directory_)) reuse_ = std::make_unique<ReuseTable>(needs_.file);
  return ok();
}

Session::Session(plan::DumpPlan plan, SessionOptions options, Beginnings beginnings)
    : plan_(std::move(plan)),
      options_(std::move(options)),
      needs_(needs_of(plan_)),
      rank_directory_(dump::rank_directory(plan_.root, options_.rank)),
      place_(std::move(beginnings.place)),
      scheme_(std::move(beginnings.scheme)),
      selector_(std::move(plan_.operators)),
      log_writer_(std::move(beginnings.log_writer)),
      status_(std::move(beginnings.status)) {
  order_matters_ = needs_.file || needs_.md5;
  if (!order_matters_) inline_bytes_ = kTinyBytes;
  holds_ = plan_.debug != plan::DebugMode::none || scheme_->writes_calls();
  if (plan_.models.watches()) watcher_ = std::make_unique<Watcher>();
  if (options_.tells_graph) {
    graph_ = std::make_unique<GraphRecorder>();
    tells_models_ = plan_.scheme != plan::SchemeKind::acl_tree || plan_.models.selects_models();
    if (tells_models_) define_graph(model::kAnyGraph, plan_.net_name, "");
  }
  if (keeps_files() && options_.process.empty()) open_ge_graphs();
  if (plan_.statistics_processor == plan::Processor::device)
    status_.warnings.push_back(
        "stat_calc_mode is \"device\": statistics are computed on the host all the same");
  const auto& devices = plan_.devices;
  if (!devices.empty() && std::ranges::find(devices, options_.device_id) == devices.end()) {
    is_excluded_ = stopped_ = true;
    status_.warnings.push_back("device " + std::to_string(options_.device_id) +
                               " is not in support_device: nothing is dumped here");
  }
  pipeline_ = std::make_unique<Pipeline>(options_.threads, options_.memory_limit_bytes, [this] { drain(); });
}

Session::~Session() {
  pipeline_.reset();
  calls_.clear();  // while there is somebody to give them back to
  if (keeps_files()) end_run(status_.run_id);
}

bool Session::selects_step(std::int64_t step) const {
  const bool has_enough = plan_.overflow_limit != 0 && overflow_count_ >= plan_.overflow_limit;
  return !stopped_ && !has_enough && step >= 0 &&
         plan_.steps.contains(plan_.initial_step + static_cast<std::uint64_t>(step));
}

bool Session::set_step(std::int64_t step) {
  const std::lock_guard ending(step_mutex_);  // several threads may end a step: it ends once
  if (watcher_) watcher_->forget();
  if (graph_ && step != step_) end_step();
  if (model_graphs_) end_model();
  const bool selected = selects_step(step);
  recording_ = selected;
  if (stopped_) recording_ = false;  // by another thread, just now
  if (step_.exchange(step) != step) {
    if (reuse_) reuse_->begin_step();
    overflows_.begin_step();
  }
  if (step >= steps_run_) steps_run_ = step + 1;
  if (!stopped_) {
    const std::lock_guard lock(drain_mutex_);
    const std::int64_t number = step + static_cast<std::int64_t>(plan_.initial_step);
    if (auto begun = scheme_->begin_step(number, selected, list_operators()); !begun)
      stop(begun.error(), "step " + std::to_string(number), 0);
  }
  if (!selected) pipeline_->before_any_write();  // the engine may unhook itself now and not see writes
  return selected;
}

void Session::define_graph(std::int64_t graph_id, std::string name, std::string file_name) {
  const std::lock_guard lock(operators_mutex_);
  if (graph_) graph_id = model::kAnyGraph;
  if (graph_) program_name_ = name.empty() ? file_name : name;
  if (graph_ && !tells_models_) return;
  plan_.models.define_model(graph_id, {std::move(name), std::move(file_name)});
  scheme_->name_graph(graph_id, plan_.models.directory_name(graph_id));
}

const DefinedOperator* Session::define(dump::LoggedOperator op) {
  if (graph_) op.graph_id = model::kAnyGraph;
  const std::lock_guard lock(operators_mutex_);
  if (const auto known = operators_.find({op.graph_id, op.name}); known != operators_.end())
    return known->second.get();
  auto defined = std::make_unique<DefinedOperator>();
  defined->op = std::move(op);
  defined->choice = plan_.models.choose(defined->op);
  defined->selected = defined->choice.wanted && selector_.wants(defined->op.name) && is_flagged(defined->op);
  if (defined->op.task == 0) defined->op.task = operators_.size();
  const DefinedOperator* const result = defined.get();
  operators_.emplace(OperatorKey{result->op.graph_id, result->op.name}, std::move(defined));
  if (result->selected && !stopped_) {
    log_writer_.add(result->op);
    log_dirty_ = true;
  }
  return result;
}

// For what a scheme tells of the plan, mindspore.md 2.9: the configured texts, and full names instead of
// regular expressions. Empty for all operators.
std::vector<std::string> Session::list_operators() {
  if (plan_.scheme != plan::SchemeKind::model_tree) return {};
  const std::lock_guard lock(operators_mutex_);
  std::vector<std::string> names;
  for (const plan::OpSelector::Rule& rule : selector_.rules())
    if (rule.kind == plan::RuleKind::name || rule.kind == plan::RuleKind::type) names.push_back(rule.text);
  std::set<std::string> hits;
  for (const auto& [key, op] : operators_)
    if (op->selected && (plan_.only_flagged_operators || selector_.matches_regex(op->op.name)))
      hits.insert(op->op.name);
  names.insert(names.end(), hits.begin(), hits.end());
  if (names.empty() && plan_.only_flagged_operators) names.emplace_back("NoSetDumpTarget");
  return names;
}

// Flags are inherited: that of the operator itself, else of the innermost scope that has one. Gradients
// follow what they are gradients of. The root scope is the model: its flag is none of an optimizer's.
bool Session::is_flagged(const model::Operator& op) const {
  if (!plan_.only_flagged_operators) return true;
  constexpr std::string_view kGradients = "Gradients/";
  std::string_view name = op.name;
  if (name.starts_with(kGradients) && !flags_.contains(name)) name.remove_prefix(kGradients.size());
  for (;;) {
    if (const auto flag = flags_.find(name); flag != flags_.end()) return flag->second.enabled;
    const std::size_t slash = name.rfind('/');
    if (slash == std::string_view::npos) return false;
    name = name.substr(0, slash);
    if (op.phase == model::Phase::optimizer && name.find('/') == std::string_view::npos) return false;
  }
}

void Session::set_dump(std::string_view name, bool enabled, bool is_unnamed) {
  const std::lock_guard lock(operators_mutex_);
  Flag& flag = flags_.try_emplace(std::string(name), Flag{enabled, is_unnamed}).first->second;
  if (!is_unnamed || flag.is_unnamed) flag = {enabled, is_unnamed};
  if (!plan_.only_flagged_operators) return;
  for (auto& [key, op] : operators_) {
    const bool was_selected = op->selected.exchange(op->choice.wanted && is_flagged(op->op));
    if (was_selected || !op->selected || stopped_) continue;
    log_writer_.add(op->op);
    log_dirty_ = true;
  }
}

}  // namespace opdump::capture
