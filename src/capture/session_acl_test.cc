// What CANN's configurations ask of a session: models, single operators, blacklists, one file for each
// execution, the watcher.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <complex>
#include <limits>
#include <set>

#include "base/file/file.h"
#include "capture/session_fixture_test.h"

namespace opdump::capture {
namespace {

// "20261121100000/0/Add.a.1.0.1795297366543426" as "0/Add.a.1.0.TIME".
std::string without_times(std::string_view path) {
  std::string text;
  while (!path.empty()) {
    const std::size_t digits = std::min(path.find_first_not_of("0123456789"), path.size());
    if (digits == 14 && text.empty())
      path.remove_prefix(std::min(digits + 1, path.size()));
    else if (digits == 0) {
      text += path[0];
      path.remove_prefix(1);
    } else {
      text += digits == 16 ? "TIME" : path.substr(0, digits);
      path.remove_prefix(digits);
    }
  }
  return text;
}

constexpr float kInfinity = std::numeric_limits<float>::infinity();

class SessionAclTest : public GraphSessionTest {
 protected:
  plan::DumpPlan acl_plan(plan::Content content = plan::Content::tensor) {
    plan::DumpPlan plan = make_plan(content);
    plan.scheme = plan::SchemeKind::acl_tree;
    plan.file_format = plan::FileFormat::bin;
    return plan;
  }

  static const DefinedOperator* define_in(Session& session, std::int64_t graph_id, std::string name,
                                          std::string type = "Add") {
    return session.define(model::Operator{.type = std::move(type),
                                          .name = std::move(name),
                                          .graph_id = graph_id,
                                          .source_file = {},
                                          .task = 3});
  }

  // Below the directory of the time, with times as TIME, sorted; ours left out.
  std::set<std::string> files() {
    std::set<std::string> found;
    for (const auto& entry : fs::recursive_directory_iterator(root_)) {
      if (!entry.is_regular_file()) continue;
      const std::string path = entry.path().lexically_relative(root_).string();
      if (path.starts_with("rank_")) continue;
      found.insert(without_times(path));
    }
    return found;
  }

  // The file whose name begins so.
  std::string text_of(std::string_view begin) {
    for (const auto& entry : fs::recursive_directory_iterator(root_))
      if (entry.path().filename().string().starts_with(begin)) return *read_file(entry.path(), 1 << 20);
    ADD_FAILURE() << "no file " << begin;
    return {};
  }

  std::vector<Floats> memory_{Floats({2}, 1), Floats({2}, 2), Floats({2}, 3)};
};

TEST_F(SessionAclTest, ModelsHaveDirectoriesAndOperatorsOfNoneTheDevices) {
  auto session = open(acl_plan());
  session->define_graph(7, "main_graph", "resnet50");
  run(*session, define_in(*session, 7, "a/b.c"), {memory_[0].operand(0)}, {memory_[1].operand(0)});
  session->set_step(2);
  run(*session, define_in(*session, 7, "a/b.c"), {memory_[0].operand(0)}, {memory_[1].operand(0)});
  run(*session, define_in(*session, model::kAnyGraph, "single"), {}, {memory_[1].operand(0)});
  ASSERT_TRUE(session->close());
  EXPECT_THAT(files(), ElementsAre("0/Add.single.3.0.TIME", "0/resnet50/7/0/Add.a_b_c.3.0.TIME",
                                   "0/resnet50/7/2/Add.a_b_c.3.0.TIME"));
}

TEST_F(SessionAclTest, TheModelIsNamedAsTheListNamesIt) {
  auto plan = acl_plan();
  plan.models.add({.model = "resnet50", .lists_operators = true, .operators = {"a"}});
  auto session = open(std::move(plan));
  session->define_graph(7, "main_graph", "resnet50");
  session->define_graph(8, "other", "");
  for (const char* name : {"a", "b"}) {
    run(*session, define_in(*session, 7, name), {}, {memory_[1].operand(0)});
    run(*session, define_in(*session, 8, name), {}, {memory_[1].operand(0)});
  }
  ASSERT_TRUE(session->close());
  EXPECT_THAT(files(), ElementsAre("0/resnet50/7/0/Add.a.3.0.TIME"));
}

TEST_F(SessionAclTest, ExcludedTensorsMoveTheOthersUp) {
  auto plan = acl_plan();
  plan.models.add(
      {.model = "", .by_type = {{"Add", {{Side::input, 0}}}}, .by_name = {{"a", {{Side::input, 1}}}}});
  auto session = open(std::move(plan));
  run(*session, define_in(*session, 1, "a"),
      {memory_[0].operand(0), memory_[1].operand(1), memory_[2].operand(2)}, {memory_[1].operand(0)});
  ASSERT_TRUE(session->close());
  const std::string bytes = text_of("Add.a.");
  std::uint64_t header = 0;
  std::memcpy(&header, bytes.data(), sizeof header);
  std::vector<float> payload(4);
  ASSERT_EQ(bytes.size(), sizeof header + header + payload.size() * sizeof(float));
  std::memcpy(payload.data(), &bytes[sizeof header + header], payload.size() * sizeof(float));
  EXPECT_THAT(payload, ElementsAre(3, 3, 2, 2)) << "the third input, and the output";
}

TEST_F(SessionAclTest, StatisticsOfEachExecutionAlsoOfComplexTensors) {
  auto plan = acl_plan(plan::Content::statistics);
  plan.statistics = {plan::Statistic::count, plan::Statistic::max};
  auto session = open(std::move(plan));
  const std::vector<std::complex<float>> values(4);
  Operand complex = memory_[0].operand(1);
  complex.view = TensorView::row_major(DType::complex64, {4}, values.data());
  run(*session, define_in(*session, 1, "a"), {memory_[0].operand(0)}, {memory_[1].operand(0), complex});
  run(*session, define_in(*session, 1, "b"), {}, {memory_[1].operand(0)});
  ASSERT_TRUE(session->close());
  EXPECT_THAT(files(), ElementsAre("0/_/1/0/Add.a.3.0.TIME.csv", "0/_/1/0/Add.b.3.0.TIME.csv"));
  EXPECT_EQ(
      text_of("Add.a."),
      "Input/Output,Index,Data Size,Data Type,Format,Shape,Count,Max Value\n"
      "Input,0,8,DT_FLOAT,ND,2,2,1\nOutput,0,8,DT_FLOAT,ND,2,2,2\nOutput,1,32,DT_COMPLEX64,ND,4,NA,NA\n");
}

TEST_F(SessionAclTest, OverflowLeavesTheOperatorAndItsRecord) {
  auto plan = acl_plan();
  plan.debug = plan::DebugMode::overflow;
  auto session = open(std::move(plan));
  const Floats infinite({2}, kInfinity);
  run(*session, define_in(*session, 1, "fine"), {memory_[0].operand(0)}, {memory_[1].operand(0)});
  run(*session, define_in(*session, 1, "bad"), {memory_[0].operand(0)}, {infinite.operand(0)});
  ASSERT_TRUE(session->close());
  EXPECT_THAT(files(), ElementsAre("0/_/1/0/Add.bad.3.0.TIME", "0/_/1/0/Opdebug.Node_OpDebug.3.0.TIME"));
}

TEST_F(SessionAclTest, AFailingOperatorsInputs) {
  auto plan = acl_plan();
  plan.debug = plan::DebugMode::exception;
  plan.sides = plan::Sides::inputs;
  auto session = open(std::move(plan));
  run(*session, define_in(*session, 1, "fine"), {memory_[0].operand(0)}, {memory_[1].operand(0)});
  run(*session, define_in(*session, 1, "bad"), {memory_[0].operand(0)}, {}, true);
  EXPECT_THAT(files(), ElementsAre("extra-info/data-dump/0/exception_info.3.0.TIME"));
  ASSERT_TRUE(session->close());
}

// A program whose graphs are reported: its steps are executions of a model, or its operators belong to none.
TEST_F(SessionAclTest, TheGraphsOfAProgram) {
  for (const bool models : {true, false}) {
    fs::remove_all(root_);
    auto plan = acl_plan();
    if (!models) plan.models.select_no_models();
    plan.models.set_single_operators(!models);
    auto session = open(std::move(plan), graph_options());
    session->define_graph(0, "train", "train");
    run_step(*session, {"a"}, 0);
    run_step(*session, {"b"}, 1);
    ASSERT_TRUE(session->close());
    if (models)
      EXPECT_THAT(files(), ElementsAre("0/train/0/0/Add.a.0.0.TIME", "0/train/1/1/Add.b.1.0.TIME"));
    else
      EXPECT_THAT(files(), ElementsAre("0/Add.a.0.0.TIME", "0/Add.b.1.0.TIME"));
  }
}

TEST_F(SessionAclTest, WhoOverwroteWhatIsWatched) {
  auto plan = acl_plan();
  plan.sides = plan::Sides::outputs;
  plan.models.add({.model = "", .lists_operators = true, .operators = {"layer"}, .watched = {"watched"}});
  auto session = open(std::move(plan), graph_options());
  Floats watched({2}, 1), other({2}, 5);
  session->set_step(0);
  run(*session, define(*session, "watched"), {}, {lend(watched, 0, 11)});
  watched.values[1] = 7;  // nobody said so
  Operand elsewhere = lend(other, 0, 12);
  elsewhere.owner = &other;  // another block than that of the watched tensor
  run(*session, define(*session, "layer", "Mul"), {}, {elsewhere});
  EXPECT_EQ(log_lines("output 0 of watched was overwritten while layer ran"), 1);
  EXPECT_EQ(log_lines("(2 of 8 bytes, from byte 6 on)"), 1);
  Call* call = session->begin(define(*session, "in place"), {});
  session->before_write(11);
  watched.values[0] = 9;
  session->end(call, std::vector<Operand>{lend(watched, 0, 13)}, false);
  EXPECT_EQ(log_lines("output 0 of watched was written to by in place, which had declared the write"), 1);
  run(*session, define(*session, "idle"), {}, {});
  EXPECT_EQ(log_lines("idle"), 0);
  ASSERT_TRUE(session->close());
  session.reset();
  EXPECT_EQ(lent, 0);
  EXPECT_THAT(files(),
              ElementsAre("0/net/0/0/Add.layer_To_watched.1.0.TIME", "0/net/0/0/Add.watched.0.0.TIME"));
  const std::string again = text_of("Add.layer_To_watched");
  float second = 0;
  std::memcpy(&second, &again[again.size() - sizeof second], sizeof second);
  EXPECT_EQ(second, 7.f);
  EXPECT_EQ(status().warnings.size(), 2u);
}

}  // namespace
}  // namespace opdump::capture
