// What the tests of the session share.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <filesystem>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "capture/session.h"
#include "dump/read/dump_set.h"
#include "dump/temp_directory_test.h"
#include "model/operator.h"

namespace opdump::capture {

namespace fs = std::filesystem;
using model::DType;
using model::Shape;
using model::Side;
using model::TensorView;
using testing::ElementsAre;
using testing::HasSubstr;

class SessionTest : public testing::Test {
 protected:
  plan::DumpPlan make_plan(plan::Content content) {
    plan::DumpPlan plan;
    plan.content = content;
    plan.root = root_;
    plan.net_name = "net";
    return plan;
  }

  // Several of a test may have one folder.
  std::unique_ptr<Session> open(plan::DumpPlan plan, SessionOptions options = {}) {
    options.existing = dump::Existing::append;
    options.log = [this](LogLevel, std::string_view line) {
      const std::lock_guard lock(log_mutex_);
      log_.emplace_back(line);
    };
    auto session = Session::open(std::move(plan), std::move(options));
    EXPECT_TRUE(session) << session.error().message();
    return session ? std::move(*session) : nullptr;
  }

  static const DefinedOperator* define(Session& session, std::string name, std::string type = "Add") {
    model::Operator op;
    op.type = std::move(type);
    op.name = std::move(name);
    return session.define(std::move(op));
  }

  static void run(Session& session, const DefinedOperator* op, std::vector<Operand> inputs,
                  std::vector<Operand> outputs, bool failed = false) {
    Call* call = session.begin(op, inputs);
    session.end(call, outputs, failed);
  }

  dump::DumpSet read() {
    auto set = dump::DumpSet::open(root_);
    EXPECT_TRUE(set) << set.error().message();
    EXPECT_TRUE(set->problems().empty());
    return std::move(*set);
  }

  dump::RecordingStatus status() {
    auto status = dump::read_status(root_ / "rank_0");
    EXPECT_TRUE(status);
    return *status;
  }

  int log_lines(std::string_view part) {
    const std::lock_guard lock(log_mutex_);
    return static_cast<int>(std::ranges::count_if(
        log_, [&](const std::string& line) { return line.find(part) != std::string::npos; }));
  }

  dump::TempDirectory directory_;
  fs::path root_ = directory_.path() / "dump";
  std::mutex log_mutex_;
  std::vector<std::string> log_;
};

// A tensor with memory of its own.
struct Floats {
  explicit Floats(Shape shape, float value = 0) : shape(std::move(shape)) {
    values.assign(*model::element_count(this->shape), value);
  }
  Operand operand(std::uint32_t index, std::uint64_t content = 0) const {
    Operand operand;
    operand.view = TensorView::row_major(DType::float32, shape, values.data());
    operand.index = index;
    operand.content = content;
    return operand;
  }
  Shape shape;
  std::vector<float> values;
};

// What a slot of a dump holds.
inline std::vector<float> values_of(const dump::Slot& slot) {
  auto stored = dump::StoredTensor::read(slot);
  EXPECT_TRUE(stored) << stored.error().message();
  std::vector<float> values(stored->view().element_count());
  std::memcpy(values.data(), stored->view().data, values.size() * sizeof(float));
  return values;
}

// An engine that lends its memory and reports the graph.
class GraphSessionTest : public SessionTest {
 protected:
  static SessionOptions graph_options() {
    SessionOptions options;
    options.reports_graph = true;
    options.retain = [](void*) { ++lent; };
    options.release = [](void*) { --lent; };
    return options;
  }

  plan::DumpPlan graph_plan() {
    plan::DumpPlan plan = make_plan(plan::Content::tensor);
    plan.graphs = plan.run_metadata = true;
    return plan;
  }

  static void run_step(Session& session, std::initializer_list<const char*> names, std::int64_t step) {
    session.set_step(step);
    const Floats x({4}, static_cast<float>(step));
    for (const char* name : names) run(session, define(session, name), {x.operand(0)}, {x.operand(0)});
  }

  static Operand lend(const Floats& memory, std::uint32_t index, std::uint64_t content) {
    Operand operand = memory.operand(index, content);
    operand.owner = &lent;
    return operand;
  }

  // "name in0 in1 out0" of each execution.
  static std::vector<std::string> describe(const dump::DumpSet& set) {
    std::vector<std::string> lines;
    for (const dump::OperatorRun& run : set.runs()) {
      std::string line = run.name;
      for (const dump::Slot& slot : run.slots)
        line += (slot.side == Side::input ? " in" : " out") + std::to_string(slot.index);
      lines.push_back(std::move(line));
    }
    return lines;
  }

  static inline std::atomic<int> lent{0};  // pieces of memory that have not come back
};

}  // namespace opdump::capture
