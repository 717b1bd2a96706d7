#include "dump/operator_log.h"

#include <gtest/gtest.h>

#include <fstream>
#include <limits>

#include "base/file/file_replacement.h"
#include "dump/operator_lines_test.h"
#include "dump/status_file.h"
#include "dump/temp_directory_test.h"

namespace opdump::dump {
namespace {

const LoggedOperator kConv({.type = "convolution",
                            .name = "Default/conv1-Conv2d/convolution-op0",
                            .phase = model::Phase::backward,
                            .graph_id = 2,
                            .stream = 1,
                            .source_file = "tra\"in.py",
                            .source_line = 31},
                           {{"tra\"in.py", 31, "Net.forward"}, {"a:b.py", 7, ""}});

void append_text(const std::filesystem::path& path, std::string_view text) {
  std::ofstream(path, std::ios::app) << text;
}

TEST(OperatorLog, Bytes) {
  const TempDirectory directory;
  auto writer = OperatorLogWriter::open(directory.path());
  ASSERT_TRUE(writer);
  writer->add(kConv);
  writer->add(UndumpedSlot{"a", 0, 3, model::Side::output, 1, model::DType::float16, {2, 3}, "view"});
  ASSERT_TRUE(writer->flush());
  EXPECT_EQ(
      *read_file(directory.path() / kOperatorLogName, 4096),
      R"({"graph_id":2,"kind":"operator","name":"Default/conv1-Conv2d/convolution-op0","phase":"backward",)"
      R"("source_file":"tra\"in.py","source_line":31,)"
      R"("stack":["tra\"in.py:31:Net.forward","a:b.py:7:"],"stream":1,"type":"convolution"})"
      "\n"
      R"({"dtype":"float16","graph_id":0,"index":1,"kind":"slot","name":"a","reason":"view","shape":[2,3],)"
      R"("side":"output","step":3})"
      "\n");
}

TEST(OperatorLog, ArgumentsOfCalls) {
  using model::Argument;
  const std::vector<Argument> arguments = {
      {"self", Argument::Tensor{.operand = 0}},
      {"other", Argument::Tensor{.operand = 1, .constant = "4"}},
      {"alpha", std::numeric_limits<double>::infinity()},
      {"dim", Argument::List{{"", std::int64_t{1}}, {"", Argument::None{}}}},
      {"dtype", std::string("torch.float32")},
      {"arguments", true}};
  const LoggedForm call{"Default/a\"b-op0", 2, 3, {"aten::mul.Tensor", encode_call_arguments(arguments), ""}};
  EXPECT_EQ(format_log_line(call),
            R"({"function":"aten::mul.Tensor","graph_id":2,"kind":"call","name":"Default/a\"b-op0","step":3,)"
            R"("arguments":{"self":{"tensor":0},"other":{"tensor":1,"constant":"4"},"alpha":{"float":"inf"},)"
            R"("dim":[1,null],"dtype":"torch.float32","arguments":true}})"
            "\n");
  const LoggedForm random{
      "a", 0, 0, {"aten::rand", "{}", encode_call_state({{"seed", "3"}, {"autocast", "bfloat16"}})}};
  EXPECT_EQ(format_log_line(random), R"({"function":"aten::rand","graph_id":0,"kind":"call","name":"a",)"
                                     R"("state":{"autocast":"bfloat16","seed":"3"},"step":0,"arguments":{}})"
                                     "\n");
  OperatorLines stated;
  ASSERT_TRUE(decode_operator_log(format_log_line(random), stated.taker()));
  ASSERT_EQ(stated.calls.size(), 1u);
  EXPECT_EQ(stated.calls[0].form, random.form);
  EXPECT_EQ(encode_call_state({}), "");
  OperatorLines lines;
  ASSERT_TRUE(decode_operator_log(format_log_line(call), lines.taker()));
  ASSERT_EQ(lines.calls.size(), 1u);
  EXPECT_EQ(lines.calls[0].operator_name, call.operator_name);
  EXPECT_EQ(lines.calls[0].step, 3);
  EXPECT_EQ(lines.calls[0].form, call.form);
  EXPECT_EQ(*decode_operator_log(R"({"kind":"call","name":"a","graph_id":0,"step":0,"arguments":[]})"
                                 "\n",
                                 lines.taker()),
            1u);
}

TEST(OperatorLog, LayoutsOfRanks) {
  const LoggedLayout layout{
      "a",
      -1,
      3,
      {.mesh = {2, 2}, .place = {0, 1}, .slots = {{"input.0", "any shard:1"}, {"output.0", "sum any"}}}};
  const std::string line = format_log_line(layout);
  EXPECT_EQ(line, R"({"graph_id":-1,"kind":"layout","mesh":[2,2],"name":"a","place":[0,1],)"
                  R"("slots":{"input.0":"any shard:1","output.0":"sum any"},"step":3})"
                  "\n");
  OperatorLines lines;
  EXPECT_EQ(*decode_operator_log(line, lines.taker()), 0u);
  ASSERT_EQ(lines.layouts.size(), 1u);
  EXPECT_EQ(lines.layouts[0].operator_name, "a");
  EXPECT_EQ(lines.layouts[0].step, 3);
  EXPECT_EQ(lines.layouts[0].layout, layout.layout);
  for (const std::string_view damaged :
       {R"({"kind":"layout","name":"a","graph_id":0,"step":0,"mesh":2,"place":[0],"slots":{}})",
        R"({"kind":"layout","name":"a","graph_id":0,"step":0,"mesh":[2],"place":["0"],"slots":{}})",
        R"({"kind":"layout","name":"a","graph_id":0,"step":0,"mesh":[2],"place":[0],"slots":{"input.0":1}})"})
    EXPECT_EQ(*decode_operator_log(std::string(damaged) + "\n", lines.taker()), 1u) << damaged;
}

TEST(OperatorLog, MakersOfInputs) {
  const CallWiring::Maker relu{.name = "Default/re\"lu-op0"},
      sgd{.name = "s", .output = 2, .steps_before = 1};
  const LoggedWiring logged{
      "a",
      -1,
      3,
      {.inputs = {{.index = 0, .maker = relu},
                  {.index = 1, .is_outside = true},
                  {.index = 2,
                   .maker = sgd,
                   .is_overwritten = true,
                   .is_view = true,
                   .view = CallWiring::View{4, {1, 8}}},
                  {.index = 3, .maker = relu, .is_view = true, .changed_by = {sgd, relu}},
                  {.index = 10, .is_outside = true, .changed_by = {sgd}},
                  {.index = 11, .changed_by = {sgd}}}}};
  const std::string line = format_log_line(logged);
  EXPECT_EQ(
      line,
      R"({"graph_id":-1,"inputs":{"0":{"maker":"Default/re\"lu-op0"},"1":null,)"
      R"("2":{"maker":"s","output":2,"steps_before":1,"view":{"offset":4,"strides":[1,8]},"overwrites":true},)"
      R"("3":{"maker":"Default/re\"lu-op0","view":true,)"
      R"("changed_by":[{"maker":"s","output":2,"steps_before":1},{"maker":"Default/re\"lu-op0"}]},)"
      R"("10":{"maker":null,"changed_by":[{"maker":"s","output":2,"steps_before":1}]},)"
      R"("11":{"changed_by":[{"maker":"s","output":2,"steps_before":1}]}},)"
      R"("kind":"wiring","name":"a","step":3})"
      "\n");
  OperatorLines lines;
  EXPECT_EQ(*decode_operator_log(line, lines.taker()), 0u);
  ASSERT_EQ(lines.wirings.size(), 1u);
  EXPECT_EQ(lines.wirings[0].operator_name, "a");
  EXPECT_EQ(lines.wirings[0].step, 3);
  EXPECT_EQ(lines.wirings[0].wiring, logged.wiring);
  EXPECT_EQ(lines.wirings[0].wiring.find(10)->as(), CallWiring::As::changed);
  EXPECT_EQ(lines.wirings[0].wiring.find(9), nullptr);
  for (const std::string_view inputs :
       {"[]", R"({"x":null})", R"({"-1":null})", R"({"4294967296":null})", R"({"0":1})",
        R"({"0":{"maker":1}})", R"({"0":{"maker":"a","output":-1}})",
        R"({"0":{"maker":"a","steps_before":-1}})", R"({"0":{"maker":"a","steps_before":"1"}})",
        R"({"0":{"maker":"a","view":false}})", R"({"0":{"maker":"a","view":{"offset":1}}})",
        R"({"0":{"maker":"a","view":{"offset":1,"strides":[""]}}})", R"({"0":{"maker":"a","changed_by":{}}})",
        R"({"0":{"maker":"a","changed_by":[{}]}})", R"({"0":null,"00":null})"})
    EXPECT_EQ(*decode_operator_log(R"({"kind":"wiring","name":"a","graph_id":0,"step":0,"inputs":)" +
                                       std::string(inputs) + "}\n",
                                   lines.taker()),
              1u)
        << inputs;
}

TEST(OperatorLog, ReadsWhatItWritesAndCountsDamage) {
  const TempDirectory directory;
  const auto path = directory.path() / kOperatorLogName;
  {
    auto writer = OperatorLogWriter::open(directory.path());
    ASSERT_TRUE(writer);
    writer->add(kConv);
    writer->add(model::Operator{.type = "add", .name = "Default/\xff-op1", .source_file = {}});
    writer->add(UndumpedSlot{"a", 0, 3, model::Side::output, 1, model::DType::float16, {2, 3}, "view"});
    ASSERT_TRUE(writer->flush());
  }
  append_text(path, "{\"kind\":\"operator\",\"na");  // killed here
  {
    auto writer = OperatorLogWriter::open(directory.path());  // and started again
    ASSERT_TRUE(writer);
    writer->add(model::Operator{.type = "other", .name = kConv.name, .graph_id = 2, .source_file = {}});
    writer->add(model::Operator{.type = "other", .name = kConv.name, .graph_id = 3, .source_file = {}});
    ASSERT_TRUE(writer->flush());
  }
  append_text(path, "[]\n{\"kind\":\"slot\"}\n{\"kind\":\"operator\",\"type\":1}\n[[[[\n{\"kind\"");
  OperatorLines lines;
  const auto damaged = read_operator_log(directory.path(), lines.taker());
  ASSERT_TRUE(damaged) << damaged.error().message();
  EXPECT_EQ(*damaged, 6u);
  ASSERT_EQ(lines.operators.size(), 4u);
  EXPECT_EQ(lines.operators[0].name, kConv.name);
  EXPECT_EQ(lines.operators[0].type, "convolution");
  EXPECT_EQ(lines.operators[0].phase, model::Phase::backward);
  EXPECT_EQ(lines.operators[0].stream, 1);
  EXPECT_EQ(model::format_source(lines.operators[0]), "tra\"in.py:31");
  EXPECT_EQ(lines.operators[0].stack, kConv.stack);
  EXPECT_EQ(lines.operators[1].name, "Default/\xEF\xBF\xBD-op1");
  EXPECT_EQ(lines.operators[2].name, kConv.name);  // again
  EXPECT_EQ(lines.operators[3].graph_id, 3);
  ASSERT_EQ(lines.undumped.size(), 1u);
  EXPECT_EQ(lines.undumped[0].reason, "view");
  EXPECT_EQ(lines.undumped[0].dtype, model::DType::float16);
  EXPECT_EQ(lines.undumped[0].shape, (model::Shape{2, 3}));
}

TEST(OperatorLog, MissingFileIsNotFound) {
  EXPECT_EQ(read_operator_log("/nonexistent", OperatorLines().taker()).error().code(), Code::not_found);
}

TEST(StatusFile, ReadsWhatItWrites) {
  const TempDirectory directory;
  RecordingStatus status;
  status.state = "incomplete";
  status.opdump_version = "0.1.0";
  status.runtime = "torch \xff";
  status.pid = 17;
  status.started_us = 1733905446819790;
  status.tensor_bytes = UINT64_MAX;
  status.first_step = 0;
  status.losses = {{"tensor not written", "No space left on device", 3, "a.npy"}};
  status.warnings = {"w"};
  ASSERT_TRUE(write_status(directory.path(), status));
  auto read = read_status(directory.path());
  ASSERT_TRUE(read) << read.error().message();
  EXPECT_EQ(read->state, "incomplete");
  EXPECT_EQ(read->runtime, "torch \xEF\xBF\xBD");
  EXPECT_EQ(read->started_us, status.started_us);
  EXPECT_EQ(read->tensor_bytes, UINT64_MAX);
  EXPECT_EQ(read->first_step, 0);
  EXPECT_EQ(read->last_step, -1);
  ASSERT_EQ(read->losses.size(), 1u);
  EXPECT_EQ(read->losses[0].count, 3u);
  EXPECT_EQ(read->losses[0].first, "a.npy");
  EXPECT_EQ(read->warnings, status.warnings);
}

TEST(StatusFile, LossesOfOtherProcessesCount) {
  const TempDirectory directory;
  RecordingStatus status;
  status.state = "complete";
  ASSERT_TRUE(write_status(directory.path(), status));
  status.process = "worker/0";
  ASSERT_TRUE(write_status(directory.path(), status));
  EXPECT_EQ(read_status(directory.path())->state, "complete");
  status.losses = {{"tensor not written", "full", 2, "a.npy"}};
  ASSERT_TRUE(write_status(directory.path(), status));
  auto read = read_status(directory.path());
  ASSERT_TRUE(read);
  EXPECT_EQ(read->state, "incomplete");
  ASSERT_EQ(read->losses.size(), 1u);
  EXPECT_EQ(read->losses[0].first, "a.npy");
  status.state = "recording";  // killed
  ASSERT_TRUE(write_status(directory.path(), status));
  EXPECT_EQ(read_status(directory.path())->losses.size(), 2u);
}

TEST(StatusFile, DamageIsToldFromAbsence) {
  const TempDirectory directory;
  EXPECT_EQ(read_status(directory.path()).error().code(), Code::not_found);
  ASSERT_TRUE(write_status(directory.path(), RecordingStatus{}));
  const std::string good = *read_file(directory.path() / kStatusFileName, 4096);
  const auto code_of = [&](const std::string& text) {
    EXPECT_TRUE(write_file_atomic(directory.path() / kStatusFileName, text, 0600));
    auto status = read_status(directory.path());
    return status ? Code::internal : status.error().code();
  };
  EXPECT_EQ(code_of(good.substr(0, good.size() / 2)), Code::corrupt);
  EXPECT_EQ(code_of("[1]"), Code::corrupt);
  EXPECT_EQ(code_of("{\"schema_version\": 1}"), Code::corrupt);
  EXPECT_EQ(code_of("{\"schema_version\": 2}"), Code::unsupported);
  std::string wrong = good;
  wrong.replace(wrong.find("\"pid\": 0"), 8, "\"pid\": {}");
  EXPECT_EQ(code_of(wrong), Code::corrupt);
  EXPECT_EQ(code_of(good), Code::internal);  // readable
}

TEST(OperatorLog, NamesTheLineOfAnInstalledPackageBesideTheUsers) {
  LoggedOperator op;
  EXPECT_EQ(describe_source(op), "");
  op.source_file = "train.py";
  op.source_line = 31;
  op.stack = {{"train.py", 31, "<module>"}};
  EXPECT_EQ(describe_source(op), "train.py:31");
  op.stack.insert(op.stack.begin(),
                  {"/venv/lib/python3.11/site-packages/timm/layers/mlp.py", 44, "Mlp.forward"});
  EXPECT_EQ(describe_source(op), "train.py:31 by timm/layers/mlp.py:44");
  op.source_file = op.stack.front().file;  // the program has no line of its own
  EXPECT_EQ(describe_source(op), "/venv/lib/python3.11/site-packages/timm/layers/mlp.py:31");
}

}  // namespace
}  // namespace opdump::dump
