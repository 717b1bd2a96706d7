// What the tests of a session's parts share: everything below the part, with a plan for rank 0.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "capture/operator_table.h"
#include "capture/recording_rules.h"
#include "capture/recording_start.h"
#include "capture/recording_state.h"
#include "capture/recording_writer.h"
#include "dump/read/dump_set.h"
#include "dump/temp_directory_test.h"

namespace opdump::capture {

class RecordingTest : public testing::Test {
 protected:
  RecordingTest() {
    plan_.root = directory_.path() / "dump";
    plan_.net_name = "net";
    plan_.content = plan::Content::both;
    options_.log = [this](LogLevel, std::string_view line) {
      const std::lock_guard lock(log_mutex_);
      log_.emplace_back(line);
    };
  }

  void start() {
    auto start = start_recording(plan_, options_);
    ASSERT_TRUE(start) << start.error().message();
    rules_.emplace(plan_, *start->scheme);
    operators_ = std::make_unique<OperatorTable>(
        OperatorTable::Options{std::move(plan_.operators), std::move(plan_.models), false},
        std::move(start->log), state_);
    writer_ =
        std::make_unique<RecordingWriter>(plan_, options_, *rules_, state_, *operators_, std::move(*start));
    ASSERT_TRUE(writer_->begin());
    state_.recording = true;
  }

  const DefinedOperator& define(std::string name) {
    return *operators_->define(model::Operator{.type = "Add", .name = std::move(name), .source_file = {}});
  }

  CallPointer make_call(const DefinedOperator& op) {
    CallPointer call = writer_->calls().make();
    call->op = &op;
    call->step = state_.step_number();
    return call;
  }

  static Operand make_operand(const std::vector<float>& values, std::uint64_t content = 0) {
    Operand operand;
    operand.view = model::TensorView::row_major(model::DType::float32,
                                                {static_cast<std::int64_t>(values.size())}, values.data());
    operand.content = content;
    return operand;
  }

  dump::RecordingStatus status() {
    auto status = dump::read_status(plan_.root / "rank_0");
    EXPECT_TRUE(status);
    return *status;
  }

  // "name in0 out0" of each execution.
  std::vector<std::string> read_runs() {
    const auto set = dump::DumpSet::open(plan_.root);
    EXPECT_TRUE(set) << set.error().message();
    std::vector<std::string> lines;
    for (const dump::OperatorRun& run : set->runs()) {
      std::string line = run.name;
      for (const dump::Slot& slot : run.slots)
        line += (slot.side == model::Side::input ? " in" : " out") + std::to_string(slot.index);
      lines.push_back(std::move(line));
    }
    return lines;
  }

  dump::TempDirectory directory_;
  plan::DumpPlan plan_;
  SessionOptions options_;
  RecordingState state_;
  std::optional<RecordingRules> rules_;
  std::unique_ptr<OperatorTable> operators_;
  std::unique_ptr<RecordingWriter> writer_;
  std::mutex log_mutex_;
  std::vector<std::string> log_;
};

}  // namespace opdump::capture
