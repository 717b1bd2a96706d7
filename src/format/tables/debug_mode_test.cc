#include "format/tables/debug_mode.h"

#include <gtest/gtest.h>

#include <cmath>
#include <map>

#include "format/tables/debug_mode_text.h"

namespace opdump::format {
namespace {

using model::DType;
using model::Side;
using Kind = DebugModeLine::Kind;
using Statistics = std::vector<std::pair<std::string, std::string>>;

constexpr std::string_view kHead =
    R"({"format": "torch.utils._debug_mode.DebugMode.logs", "version": 1, "logs": [)";

std::vector<DebugModeLine> decode(std::string_view logs, std::string_view fault = {}) {
  std::vector<DebugModeLine> lines;
  const auto faults = decode_debug_mode(std::string(kHead) + std::string(logs) + "]}\n",
                                        [&](DebugModeLine line) { lines.push_back(std::move(line)); });
  EXPECT_TRUE(faults) << faults.error().message();
  EXPECT_EQ(faults ? faults->first : "", fault);
  return lines;
}

std::string op(std::string_view name, std::string_view arguments, std::string_view rest) {
  return R"({"type": "op", "call_depth": 3, "op_name": ")" + std::string(name) + R"(", "args_str": ")" +
         std::string(arguments) + R"(", "kwargs_str": "", )" + std::string(rest) + "}";
}

std::string error_of(std::string_view text) {
  const auto faults = decode_debug_mode(text, [](const DebugModeLine&) {});
  return faults ? "" : faults.error().message();
}

TEST(DebugModeText, TensorsNoneAndTheRest) {
  const auto values = parse_debug_mode_values(
      "t: f32[5, 1]{requires_grad=True, layout=torch.strided}, None, [1, 1], ['t$12: i64[]', 'None', None], "
      "1e-05, cpu, dt: bf16[8]| S(0), ft$0: b8[s0], (t, 'it\\'s'), memory_format=torch.preserve_format, "
      "out=t: u8[0]");
  using VK = DebugModeValue::Kind;
  ASSERT_EQ(values.size(), 11U);
  EXPECT_EQ(values[0].kind, VK::tensor);
  EXPECT_EQ(values[0].dtype, DType::float32);
  EXPECT_EQ(values[0].shape, (model::Shape{5, 1}));
  EXPECT_EQ(values[1].kind, VK::none);
  EXPECT_EQ(values[2].items.size(), 2U);
  ASSERT_EQ(values[3].items.size(), 3U);
  EXPECT_EQ(values[3].items[0].dtype, DType::int64);
  EXPECT_EQ(values[3].items[0].shape, model::Shape());
  EXPECT_EQ(values[3].items[1].kind, VK::none);
  EXPECT_EQ(values[3].items[2].kind, VK::none);
  EXPECT_EQ(values[4].kind, VK::other);
  EXPECT_EQ(values[6].kind, VK::dtensor);
  EXPECT_EQ(values[6].shape, model::Shape{8});
  EXPECT_EQ(values[7].kind, VK::fake_tensor);
  EXPECT_EQ(values[7].shape, std::nullopt);
  EXPECT_EQ(values[8].items.size(), 2U);
  EXPECT_EQ(values[9].keyword, "memory_format");
  EXPECT_EQ(values[10].keyword, "out");
  EXPECT_EQ(values[10].shape, model::Shape{0});
}

TEST(DebugModeText, AnyTextIsAccepted) {
  for (const std::string_view text :
       {"", ",", "[", "]", "t: ", "t: f32", "t: f32]3[", "t$x: f32[1]", "((((((((((((((((((((((((((((((",
        "'a", "'a\\", "t: f32[99999999999999999999]", "=", "a=", "t: F32[1]"})
    for (const DebugModeValue& value : parse_debug_mode_values(text))
      EXPECT_TRUE(value.kind != DebugModeValue::Kind::tensor || !value.shape) << text;
}

TEST(DebugMode, TensorsAndTheirHashes) {
  const auto lines = decode(
      op("aten::convolution_backward", "t: f32[2, 3], [t: i64[1], None], [3]",
         R"j("output_str": "  ->  ('None', 't: f32[3]', 't: f32[]')", "log": {"type": "dict", "items": [
        ["input_hash", {"type": "tuple", "items": [{"type": "tuple", "items": [{"type": "scalar", "value": 1.5},
          {"type": "list", "items": [{"type": "scalar", "value": 4}, {"type": "scalar", "value": null}]},
          {"type": "list", "items": [{"type": "scalar", "value": null}]}]}, {"type": "dict", "items": []}]}],
        ["hash", {"type": "tuple", "items": [{"type": "scalar", "value": null},
          {"type": "tuple", "items": [{"type": "nonfinite_float", "value": "nan"},
                                      {"type": "scalar", "value": 18446744073709551615}]},
          {"type": "scalar", "value": "ab12"}]}]]})j"));
  ASSERT_EQ(lines.size(), 1U);
  EXPECT_EQ(lines[0].kind, Kind::call);
  EXPECT_EQ(lines[0].name, "aten::convolution_backward");
  EXPECT_EQ(lines[0].level, 2);
  const auto& tensors = lines[0].tensors;
  ASSERT_EQ(tensors.size(), 4U);
  EXPECT_EQ(tensors[0].side, Side::input);
  EXPECT_EQ(tensors[0].shape, (model::Shape{2, 3}));
  EXPECT_EQ(tensors[0].statistics, (Statistics{{"L1Norm Value", "1.5"}}));
  EXPECT_EQ(tensors[1].index, 1U);
  EXPECT_EQ(tensors[1].statistics, (Statistics{{"hash_tensor", "4"}}));
  EXPECT_EQ(tensors[2].side, Side::output);
  EXPECT_EQ(tensors[2].index, 1U);
  EXPECT_EQ(tensors[2].statistics,
            (Statistics{{"L1Norm Value", "nan"}, {"hash_tensor", "18446744073709551615"}}));
  EXPECT_EQ(tensors[3].index, 2U);
  EXPECT_EQ(tensors[3].statistics, (Statistics{{"Hash", "ab12"}}));
}

TEST(DebugMode, Arguments) {
  const auto lines =
      decode(op("aten::f", "t: f32[2], 1e-05, None, [t: f32[1], None], [1, x], cpu, True, t: i64[], -inf",
                R"("log": null)"));
  using model::Argument;
  std::map<std::string, Argument> found;
  for (const Argument& argument : lines[0].arguments) found[argument.name] = argument;
  ASSERT_EQ(found.size(), 7U);  // without x and cpu
  EXPECT_EQ(std::get<Argument::Tensor>(found["0"].value).operand, 0U);
  EXPECT_EQ(std::get<double>(found["1"].value), 1e-5);
  EXPECT_TRUE(std::holds_alternative<Argument::None>(found["2"].value));
  const auto& list = std::get<Argument::List>(found["3"].value);
  EXPECT_EQ(std::get<Argument::Tensor>(list[0].value).operand, 2U);
  EXPECT_TRUE(std::get<bool>(found["6"].value));
  EXPECT_EQ(std::get<Argument::Tensor>(found["7"].value).operand, 4U);
  EXPECT_TRUE(std::isinf(std::get<double>(found["8"].value)));
  const auto& tensors = lines[0].tensors;
  ASSERT_EQ(tensors.size(), 3U);
  EXPECT_EQ(tensors[2].index, 4U);  // as arguments count them
}

// DebugMode(record_output=False) writes such records.
TEST(DebugMode, ResultsThatAreNotPrinted) {
  const std::string hash = R"("output_str": null, "log": {"type": "dict", "items": [["hash", )";
  const auto one = decode(op("aten::relu", "t: f32[2]", hash + R"({"type": "scalar", "value": 2.5}]]})"));
  ASSERT_EQ(one[0].tensors.size(), 2U);
  EXPECT_EQ(one[0].tensors[1].side, Side::output);
  EXPECT_EQ(one[0].tensors[1].shape, std::nullopt);
  const auto two = decode(
      op("aten::max", "t: f32[2]", hash + R"({"type": "tuple", "items": [{"type": "scalar", "value": 2.5},
                                       {"type": "scalar", "value": 1.0}]}]]})"));
  EXPECT_EQ(two[0].tensors.size(), 3U);
  EXPECT_EQ(decode(op("aten::relu_", "t: f32[2]", R"("log": null)"))[0].tensors.size(), 1U);
}

// Their results come when the program has waited for them; what is overwritten has no meaning.
TEST(DebugMode, HashesWithoutMeaning) {
  const std::string log =
      R"("output_str": "  ->  t: f32[2]", "log": {"type": "dict", "items": [["input_hash", {"type": "tuple",
      "items": [{"type": "tuple", "items": [{"type": "scalar", "value": 1.5}]}, {"type": "dict", "items": []}]}],
      ["hash", {"type": "scalar", "value": 2.5}]]})";
  const auto known = [&](std::string_view name) {
    const auto lines = decode(op(name, "t: f32[2]", log));
    return std::string(lines[0].tensors[0].statistics.empty() ? "-" : "i") +
           (lines[0].tensors[1].statistics.empty() ? "-" : "o");
  };
  EXPECT_EQ(known("aten::relu"), "io");
  EXPECT_EQ(known("_c10d_functional::all_reduce"), "i-");
  EXPECT_EQ(known("_c10d_functional::_wrap_tensor_autograd"), "--");
  EXPECT_EQ(known("_c10d_functional::wait_tensor"), "-o");
  EXPECT_EQ(known("aten::bernoulli_.float"), "-o");
  const auto lines = decode(op("aten::mkldnn_rnn_layer_backward", "t: f32[2]{u8}", log) + "," +
                            op("aten::mkldnn_rnn_layer_backward", "t: u8[2]", log));
  EXPECT_FALSE(lines[0].tensors[0].statistics.empty());
  EXPECT_TRUE(lines[1].tensors[0].statistics.empty());
}

TEST(DebugMode, RegionsAndWhatOnlyLeadsToOperators) {
  const auto lines = decode(
      R"j({"type": "annotate", "call_depth": 1, "tag": "Net.conv1", "header": "nn.Mod"},
         {"type": "annotate", "call_depth": 0, "tag": "Optimizer.step#SGD.step", "header": "record function"},
         {"type": "annotate", "call_depth": 1, "tag": "x", "header": "nn.Mod (compile bwd)"},
         {"type": "annotate", "call_depth": 0, "tag": "here", "header": "annotate"},
         {"type": "redistribute", "call_depth": 2, "arg_str": "1"},)j" +
      op("aten::mm", "dt: f32[8]| S(0)", R"("log": null)") + "," +
      op("torch.mm", "t: f32[8]", R"("log": null)") + "," + op("aten::mm", "ft: f32[8]", R"("log": null)"));
  ASSERT_EQ(lines.size(), 8U);
  EXPECT_EQ(lines[0].kind, Kind::module);
  EXPECT_EQ(lines[0].level, 0);
  EXPECT_EQ(lines[0].inner_level, 1);
  EXPECT_EQ(lines[1].kind, Kind::record);
  EXPECT_EQ(lines[1].level, 0);
  EXPECT_EQ(lines[1].inner_level, 1);
  EXPECT_EQ(lines[2].kind, Kind::module_backward);
  EXPECT_TRUE(lines[2].is_compiled && !lines[0].is_compiled);
  for (std::size_t i = 3; i < lines.size(); ++i) EXPECT_EQ(lines[i].kind, Kind::other) << i;
  EXPECT_EQ(lines[4].level, 1);
  EXPECT_EQ(lines[5].level, 3);
  EXPECT_EQ(lines[6].level, 3);
  EXPECT_EQ(lines[7].level, 2);
}

// DebugMode(record_torchfunction=True) writes such records.
TEST(DebugMode, RecordsThatTheApiBegins) {
  const auto lines = decode(R"({"type": "op", "call_depth": 2, "args_str": "x", "kwargs_str": "",
           "op_name": "torch._ops.profiler._record_function_enter_new"},
         {"type": "annotate", "call_depth": 3, "tag": "Optimizer.step#SGD.step", "header": "record function"},
         {"type": "annotate", "call_depth": 3, "tag": "x", "header": "record function"})");
  ASSERT_EQ(lines.size(), 3U);
  EXPECT_EQ(lines[1].level, 2);
  EXPECT_EQ(lines[1].inner_level, 3);
  EXPECT_EQ(lines[2].level, 3);
  EXPECT_EQ(lines[2].inner_level, 4);
}

TEST(DebugMode, KernelsOfTriton) {
  const auto lines = decode(
      R"({"type": "triton_kernel", "call_depth": 2, "kernel_name": "triton_poi_fused_0", "kwargs_str":
          "in_ptr0=t: f32[4], in_out_ptr0=t: f32[2], out_ptr0=t: f32[4], xnumel=4",
          "pre_hashes": {"type": "dict", "items": [["in_ptr0", {"type": "scalar", "value": 1.0}],
                                                   ["in_out_ptr0", {"type": "scalar", "value": 2.0}]]},
          "post_hashes": {"type": "dict", "items": [["out_ptr0", {"type": "scalar", "value": 3.0}]]}})");
  ASSERT_EQ(lines.size(), 1U);
  EXPECT_TRUE(lines[0].is_kernel);
  const auto& tensors = lines[0].tensors;
  ASSERT_EQ(tensors.size(), 4U);
  EXPECT_EQ(tensors[0].argument, "in_ptr0");
  EXPECT_EQ(tensors[0].statistics, (Statistics{{"L1Norm Value", "1.0"}}));
  EXPECT_EQ(tensors[1].argument, "in_out_ptr0");
  EXPECT_EQ(tensors[2].side, Side::output);
  EXPECT_EQ(tensors[2].argument, "in_out_ptr0");
  EXPECT_EQ(tensors[3].statistics, (Statistics{{"L1Norm Value", "3.0"}}));
}

TEST(DebugMode, StacksInnermostFirst) {
  const std::string own =
      R"("log": null, "stack_trace": "  File \"/t.py\", line 3, in <module>\n    f(\", in x)\n  File \"/u.py\", line 7, in f\n    g()\n")";
  const auto lines =
      decode(op("aten::relu", "t: f32[2]", own) + "," +
             op("aten::mm", "t: f32[2]", own + R"(, "fwd_stack_trace": "  File \"/v.py\", line 9, in h\n")"));
  ASSERT_EQ(lines.size(), 2U);
  EXPECT_EQ(lines[0].stack, (std::vector<model::Frame>{{"/u.py", 7, "f"}, {"/t.py", 3, "<module>"}}));
  EXPECT_FALSE(lines[0].is_backward);
  EXPECT_EQ(lines[1].stack, (std::vector<model::Frame>{{"/v.py", 9, "h"}}));
  EXPECT_TRUE(lines[1].is_backward);
}

TEST(DebugMode, LinesThatAreNotAsTheyShouldBe) {
  EXPECT_EQ(decode(R"({"type": "new", "call_depth": 0})", "logs[0]: the type \"new\" is not known").size(),
            0U);
  EXPECT_EQ(decode("3, []", "logs[0]: no type").size(), 0U);
  EXPECT_EQ(decode(op("aten::mm", "", R"("log": null)") + R"(, {"type": "op", "call_depth": -1})",
                   "logs[1]: no call_depth that is a number from 0 on")
                .size(),
            1U);
  decode(R"({"type": "op", "call_depth": 1, "op_name": 3})", "logs[0]: op_name is no text");
  decode(op("aten::mm", "t: f32[2]", R"("log": [{"type": "dict"}], "output_str": 4, "stack_trace": {})"));
}

TEST(DebugMode, OtherFilesAreRefused) {
  EXPECT_TRUE(is_debug_mode(kHead));
  EXPECT_TRUE(is_debug_mode("\n{ \"format\" :\t\"torch.utils._debug_mode.DebugMode.logs\"}"));
  EXPECT_FALSE(is_debug_mode(R"({"format": "torch.utils"})"));
  EXPECT_FALSE(is_debug_mode(""));
  EXPECT_EQ(error_of(R"({"format": "torch.utils._debug_mode.DebugMode.logs", "version": 2, "logs": []})"),
            "version is 2; expected 1");
  EXPECT_EQ(error_of(R"({"format": "x", "version": 1, "logs": []})"),
            R"(format is "x"; expected "torch.utils._debug_mode.DebugMode.logs")");
  EXPECT_EQ(error_of(R"({"logs": [], "version": 1})"), "no format and version before the logs");
  EXPECT_EQ(error_of(std::string(kHead).substr(0, 60) + R"(version": 1})"), "no array \"logs\" in it");
  EXPECT_EQ(error_of(std::string(kHead) + "{\"type\": }]}").substr(0, 14), "1:86: not JSON");
  EXPECT_EQ(error_of(std::string(kHead) + "{\"type\": \"op\"").substr(0, 15), "1:90: not JSON:");
}

}  // namespace
}  // namespace opdump::format
