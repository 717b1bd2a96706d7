#include "capture/recording_start.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/version.h"
#include "capture/clock.h"
#include "capture/run_environment.h"
#include "capture/run_identity.h"
#include "dump/fingerprint_writer.h"
#include "dump/write/acl_tree.h"
#include "dump/write/call_data.h"
#include "dump/write/model_tree.h"
#include "dump/write/rank_tree.h"

namespace opdump::capture {
namespace {

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

Result<std::unique_ptr<dump::SchemeWriter>> open_scheme(const plan::DumpPlan& plan,
                                                        const SessionOptions& options,
                                                        const std::string& time_directory) {
  if (plan.scheme == plan::SchemeKind::acl_tree) return open_acl_scheme(plan, options, time_directory);
  std::vector<std::string> columns;
  if (plan.content != plan::Content::tensor)
    for (const plan::Statistic statistic : plan.statistics)
      columns.emplace_back(plan::statistic_table()[static_cast<std::size_t>(statistic)].column);
  if (options.write_file)
    return Error(Code::usage, "write_file is for plans of the dialect acl; this one is of " + plan.dialect);
  if (plan.scheme == plan::SchemeKind::rank_tree) {
    auto tree = dump::open_rank_tree(
        {plan.root, plan.net_name, options.rank, std::move(columns), plan.class_name_dtypes});
    if (!tree || !plan.fingerprints) return tree;
    return dump::write_fingerprints(std::move(*tree), dump::rank_directory(plan.root, options.rank));
  }

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

// Whether hard links work there. Some network and FAT file systems refuse them.
bool links_work(const std::filesystem::path& directory) {
  const std::filesystem::path status = directory / dump::kOperatorLogName;
  const std::filesystem::path probe = directory / (".link" + std::to_string(::getpid()));
  if (::link(status.c_str(), probe.c_str()) != 0) return false;
  ::unlink(probe.c_str());
  return true;
}

bool asks_for_everything(const plan::DumpPlan& plan) {
  return plan.operators.selects_all() && plan.models.selects_all() && !plan.only_flagged_operators &&
         plan.debug == plan::DebugMode::none && plan.sides == plan::Sides::both;
}

}  // namespace

// The status comes before everything else that the recording makes.
Result<RecordingStart> start_recording(const plan::DumpPlan& plan, const SessionOptions& options) {
  RecordingStart start;
  start.status.opdump_version = kVersion;
  start.status.process = options.process;
  start.status.runtime = options.runtime;
  start.status.config_path = plan.config_path.string();
  if (!asks_for_everything(plan)) start.status.config_text = plan.config_text;
  start.status.pid = ::getpid();
  start.status.started_us = now_us();
  start.status.environment = describe_environment();
  start.status.reads_checked = options.checks_reads;
  start.status.warnings = plan.warnings;
  if (!options.keeps_files()) {
    OPDUMP_TRY(start.scheme, open_scheme(plan, options, dump::format_local_time(start.status.started_us)));
    return start;
  }
  start.status.run_id = begin_run();
  OPDUMP_TRY(start.folder,
             dump::RecordingFolder::claim({.root = plan.root,
                                           .rank = options.rank,
                                           .device = options.device_id,
                                           .by_time = plan.scheme != plan::SchemeKind::rank_tree,
                                           .existing = options.existing},
                                          start.status));
  OPDUMP_TRY(start.scheme, open_scheme(plan, options, start.status.time_directory));
  if (plan.budget_bytes) {
    auto budget = std::make_shared<dump::Budget>(*plan.budget_bytes, plan.root);
    start.scheme =
        dump::limit_writes(std::move(start.scheme), budget,
                           plan.fingerprints ? std::optional(dump::kFingerprintRowBytes) : std::nullopt);
    start.budget = std::move(budget);
  }
  const std::filesystem::path rank_directory = dump::rank_directory(plan.root, options.rank);
  OPDUMP_TRY(start.log, dump::OperatorLogWriter::open(rank_directory));
  start.links_work = plan.content != plan::Content::statistics && links_work(rank_directory);
  return start;
}

}  // namespace opdump::capture
