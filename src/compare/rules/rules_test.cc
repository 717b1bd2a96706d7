// Every rule has an example: two tiny dumps of which opdump says something else without it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "compare/compare_fixture_test.h"
#include "compare/names.h"
#include "compare/rules/example_program_test.h"
#include "compare/rules/examples_of_ports_test.h"
#include "compare/rules/examples_of_ranks_test.h"
#include "compare/rules/rule.h"

namespace opdump::compare {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

// ---- Which tensors count.

void fill_overwritten(Program& golden, Program& actual) {
  golden.op("copy_.a", {{3, 3}, {1, 2}}, {{1, 2}});
  actual.op("copy_.a", {{5, 7}, {1, 2}}, {{1, 2}});
}

void fill_silent_dump(Program& golden, Program& actual) {
  golden.logged("a-op0", {{1, 2}}, {}).undumped("a-op0", model::Side::output, "view");
  actual.op("a.a-op0", {{1, 2}}, {});
}

void fill_filtered(Program& golden, Program& actual) {
  golden.op("exp.a", {{1, 2}}, {{3, 7}}).op("mul.b", {{3, 7}}, {{6, 14}});
  actual.op("exp.a", {}, {{3, 7}}).configure(R"({"common_dump_settings":
      {"dump_mode": 1, "kernels": ["Exp"], "input_output": 2}})");
}

void fill_unfinished(Program& golden, Program& actual) {
  golden.op("exp.a", {{1, 2}}, {{3, 7}}).dump().state("complete");
  actual.op("exp.a", {{1, 2}}, {}).dump().state("recording");
}

// A batch of two rows, and the second of them alone.
void fill_batch(Program& golden, Program& actual) {
  golden.logged("Default/exp-op0", {{1, 2}}, {{3, 4}}).wired("Default/exp-op0", {{.is_outside = true}});
  actual.logged("Default/exp-op0", {{2}}, {{4}}).wired("Default/exp-op0", {{.is_outside = true}});
}

// A random initialisation over which weights are loaded.
void fill_never_read(Program& golden, Program& actual) {
  using Input = dump::CallWiring::Input;
  for (auto& [run, first] : {std::pair(&golden, 3.f), std::pair(&actual, 4.f)})
    run->logged("Default/full-op0", {}, {{first, 5}})
        .logged("Default/copy_-op0", {{first, 5}, {2, 2}}, {{2, 2}})
        .wired("Default/copy_-op0",
               {Input{.index = 0, .maker = {{.name = "Default/full-op0"}}, .is_overwritten = true},
                Input{.index = 1, .is_outside = true}});
}

// Data in the order that Python reads from what is drawn.
void fill_order(Program& golden, Program& actual) {
  using Input = dump::CallWiring::Input;
  for (auto& [run, first] : {std::pair(&golden, 1.f), std::pair(&actual, 2.f)})
    run->logged("Default/randperm-op0", {}, {{first, 3 - first}})
        .wired("Default/randperm-op0", {})
        .logged("Default/cos-op0", {{first, 5}}, {{first, 6}})
        .wired("Default/cos-op0", {Input{.index = 0, .is_outside = true}});
}

// Golden trains two steps; actual goes on after the first.
void fill_resumed(Program& golden, Program& actual) {
  const auto fill = [](Program& run, std::int64_t step, const std::vector<float>& weights) {
    run.dump().step(step);
    run.op("exp.Default_fc-Linear_exp-op0", {weights, {1, 2, 3, 4}}, {{9, 9, 9, weights[0]}});
    run.op("tan.Default_fc-Linear_tan-op0", {{9, 9, 9, weights[0]}}, {{weights[1], 5}});
    run.op("cos.Gradients_Default_cos-op0", {{weights[1], 5}}, {{weights[1], 6}});
  };
  for (Program* const run : {&golden, &actual})
    run->say("Default/fc-Linear/exp-op0")
        .say("Default/fc-Linear/tan-op0")
        .say("Gradients/Default/cos-op0", {.phase = model::Phase::backward});
  fill(golden, 0, {1, 2, 3, 4});
  fill(golden, 1, {5, 2, 7, 8});
  fill(actual, 0, {5, 2, 7, 8});
}

// A log of DebugMode has the norm of what an operator makes.
void fill_log(Program& golden, Program& actual) {
  golden.file("log.json",
              R"({"format": "torch.utils._debug_mode.DebugMode.logs", "version": 1, "logs": [{"type": "op",
      "call_depth": 3, "op_name": "aten::sin", "args_str": "t: f32[2]", "kwargs_str": "",
      "output_str": "  ->  t: f32[2]",
      "log": {"type": "dict", "items": [["hash", {"type": "scalar", "value": 3.0}]]}}]})");
  actual.logged("Default/sin-op0", {{5, 6}}, {{1, 2}});
}

// ---- What excuses an operator.

void fill_argument(Program& golden, Program& actual) {
  golden.logged("Default/norm-op0", {{1, 2}}, {{3, 4}}, {.arguments = R"({"self":{"tensor":0},"eps":1})"});
  actual.logged("Default/norm-op0", {{1, 2}}, {{3, 5}}, {.arguments = R"({"self":{"tensor":0},"eps":2})"});
}

void fill_grown(Program& golden, Program& actual) {
  golden.op("exp.a", {{1, 2}}, {{1, 2}}).op("tan.b", {{1, 2}}, {{1, 2}});
  actual.op("exp.a", {{1, 2}}, {{1, 2.00001F}}).op("tan.b", {{1, 2.00001F}}, {{1, 2.0001F}});
}

void fill_lost(Program& golden, Program& actual) {
  golden.op("cat.a", {{1, 2}, {1e-12F, 2e-12F}}, {{1, 2, 1e-12F, 2e-12F}});
  actual.op("cat.a", {{1, 2}, {2e-12F, 1e-12F}}, {{1, 2, 2e-12F, 1e-12F}});
}

void fill_choice(Program& golden, Program& actual) {
  const auto fill = [](Program& run, const std::vector<float>& scores, std::int64_t best) {
    const Said said{.arguments = R"({"self":{"tensor":0},"dim":null})"};
    run.op("exp.a", {{1, 2, 3}}, {scores}).logged("b/argmax-op0", {scores}, {}, said);
    run.places("argmax.b_argmax-op0.output.0", {best});
  };
  fill(golden, {1, 2, 1.9999999F}, 1);
  fill(actual, {1, 1.9999999F, 2}, 2);
}

// A number near 0 falls on the other side of a threshold.
void fill_mask(Program& golden, Program& actual) {
  const auto fill = [](Program& run, float number, float left) {
    const Said said{.arguments = R"({"grad_output":{"tensor":0},"self":{"tensor":1},"threshold":0})"};
    run.op("sub.a", {{1}}, {{1, number, 2}})
        .logged("b/threshold_backward-op0", {{5, 6, 7}, {1, number, 2}}, {{5, left, 7}}, said)
        .op("tan.c", {{5, left, 7}}, {{10, 2 * left, 14}});
  };
  fill(golden, 1e-9F, 6);
  fill(actual, -1e-9F, 0);
}

void fill_cancelled(Program& golden, Program& actual) {
  golden.op("sum.a", {{1, -1, 1, -1}}, {{1e-8F}});
  actual.op("sum.a", {{1, -1, 1, -1}}, {{2e-8F}});
}

// Each run adds the terms up by another operator.
void fill_followed(Program& golden, Program& actual) {
  const auto fill = [](Program& run, const std::string& adds, float left) {
    run.logged("Default/" + adds + "-op0", {{1, -1, 1, -1}}, {{left}})
        .logged("Default/add_-op0", {{0}, {left}}, {{left}});
  };
  fill(golden, "sum", 1e-8F);
  fill(actual, "mean", 2e-8F);
}

// A mask with the least number in actual, which a softmax does not tell from -inf.
void fill_masks(Program& golden, Program& actual) {
  for (auto& [run, least] : {std::pair(&golden, -INFINITY), std::pair(&actual, -1e9F)})
    run->logged("Default/masked_fill-op0", {{1, 2}}, {{1, least}})
        .wired("Default/masked_fill-op0", {{.is_outside = true}})
        .logged("Default/_softmax-op0", {{1, least}}, {{1, 0}})
        .wired("Default/_softmax-op0", {{.maker = {{.name = "Default/masked_fill-op0"}}}});
}

// Products of numbers that actual rounds to 10 bits after the first.
void fill_units(Program& golden, Program& actual) {
  const auto fill = [](Program& run, const std::vector<float>& products) {
    for (std::size_t i = 0; i < products.size(); ++i) {
      const std::string name = "Default/mm-op" + std::to_string(i),
                        slots = "mm.Default_mm-op" + std::to_string(i);
      run.say(name, {.arguments = R"({"self":{"tensor":0},"mat2":{"tensor":1}})"})
          .dump()
          .tensor(slots + ".input.0", {1.0007F, 3}, "(1, 2)");
      run.dump().tensor(slots + ".input.1", {static_cast<float>(i + 2), 1}, "(2, 1)");
      run.dump().tensor(slots + ".output.0", {products[i]}, "(1, 1)");
    }
  };
  fill(golden, {5.0014F, 6.0021F});
  fill(actual, {5.001953125F, 6.0029296875F});  // of 1.0009765625
}

// Of these dumps nobody knows what operators read.
void fill_outputs(Program& golden, Program& actual) {
  golden.op("mm.a", {}, {{1, 2}}).op("mul.b", {}, {{3, 4}});
  actual.op("mm.a", {}, {{1, 2.00001F}}).op("mul.b", {}, {{3, 4.00006F}});
}

void fill_state(Program& golden, Program& actual) {
  golden.logged("Default/rand-op0", {}, {{1, 2}}, {.state = R"({"seed":"1"})"});
  actual.logged("Default/rand-op0", {}, {{3, 4}}, {.state = R"({"seed":"2"})"});
}

// ---- What the bad ones mean together.

void fill_sums(Program& golden, Program& actual) {
  const auto fill = [](Program& run, const Tensors& first, const std::vector<float>& both,
                       const std::vector<float>& third) {
    run.logged("Default/sin-op0", {{1, 2}}, {{1, 2}})
        .logged("Default/cos-op0", {{1, 2}}, {{10, 30}})
        .logged("Default/tan-op0", {{1, 2}}, {{100, 500}})
        .logged("Default/add_-op0", first, {both})
        .logged("Default/add_-op1", {both, third}, {{111, 532}})
        .logged("Default/mul-op0", {{111, 532}}, {{5, 6}});
  };
  fill(golden, {{1, 2}, {10, 30}}, {11, 32}, {100, 500});
  fill(actual, {{10, 30}, {100, 500}}, {110, 530}, {1, 2});
}

// A cache with an empty place in actual.
void fill_resized(Program& golden, Program& actual) {
  for (auto& [run, cache] :
       {std::pair(&golden, std::vector<float>{1, 2}), std::pair(&actual, std::vector<float>{1, 2, 0})})
    run->logged("Default/pad-op0", {{1, 2}}, {cache})
        .wired("Default/pad-op0", {{.is_outside = true}})
        .logged("Default/mm-op0", {cache}, {{5, 6}})
        .wired("Default/mm-op0", {{.maker = {{.name = "Default/pad-op0"}}}});
}

// Actual has a loss that is four times golden's, and divides its gradients.
void fill_scaled(Program& golden, Program& actual) {
  for (auto& [run, scale] : {std::pair(&golden, 1.F), std::pair(&actual, 4.F)})
    run->logged("Gradients/Default/mul-op0", {{scale}, {2, 3}}, {{2 * scale, 3 * scale}},
                {.phase = model::Phase::backward});
  actual.logged("Default/div_-op0", {{8, 12}, {4}}, {{2, 3}});
  for (Program* run : {&golden, &actual})
    run->logged("Default/optimizer-SGD/add_-op0", {{9, 9}, {2, 3}}, {{7, 6}},
                {.phase = model::Phase::optimizer});
}

// Each run prints a number that an operator of its own made.
void fill_handed(Program& golden, Program& actual) {
  const auto hand = [](Program& run, const std::string& maker, float number) {
    run.logged("Default/exp-op0", {{1, 2}}, {{3, 7}}).wired("Default/exp-op0", {{.is_outside = true}});
    run.logged(maker, {{3, 7}}, {{number}}).wired(maker, {{.maker = {{.name = "Default/exp-op0"}}}});
    run.logged("Default/_local_scalar_dense-op0", {{number}}, {})
        .wired("Default/_local_scalar_dense-op0", {{.maker = {{.name = maker}}}});
  };
  hand(golden, "Default/mean-op0", 5);
  hand(actual, "Default/sum-op0", 10);
}

void fill_elsewhere(Program& golden, Program& actual) {
  golden.op("sub.a", {{5, 7}, {1, 2}}, {{4, 5}}).op("pow.b", {{4, 5}}, {{16, 25}});
  actual.op("neg.x", {{1, 2}}, {{-1, -2}})
      .op("add.y", {{5, 7}, {-1, -2}}, {{4, 5}})
      .op("pow.b", {{4, 5}}, {{16, 25}});
}

void fill_lacking(Program& golden, Program& actual) {
  golden.op("mm.a", {}, {{1, 2}}).op("tanh.b", {}, {{3, 4}});
  actual.op("mm.a", {}, {{1, 2}}).op("exp.x", {}, {{5, 6}}).op("tanh.b", {}, {{3, 4}});
}

void fill_difference(Program& golden, Program& actual) {
  golden.op("exp.a", {{1, 2, 3, 4}}, {{1, 5, 3, 4}});
  actual.op("exp.a", {{1, 2, 3, 4}}, {{2, 10, 6, 8}});
}

void fill_single(Program& golden, Program& actual) {
  golden.op("mm.a", {}, {{1, 2}}).op("tanh.b", {}, {{3, 4}});
  actual.op("mm.a", {}, {{1, 2}}).op("exp.x", {}, {{5, 6}}).op("tanh.b", {}, {{3, 7}});
}

void fill_gradient(Program& golden, Program& actual) {
  for (Program* run : {&golden, &actual}) run->logged("Default/fc-Linear/mm-op0", {{1, 2}}, {{3, 4}});
  golden.logged("Gradients/Default/fc-Linear/mm-op0", {{5, 6}}, {{7, 8}}, {.phase = model::Phase::backward});
}

// Both runs have the gradient; golden's has the name of the module.
void fill_repeated_pass(Program& golden, Program& actual) {
  fill_gradient(golden, actual);
  actual.logged("Gradients/Default/Gradients/Default/AccumulateGrad/mm-op0", {{5, 9}}, {{7, 11}},
                {.phase = model::Phase::backward});
}

// With a line of the program, and actual drops other elements in its backward pass.
void fill_repetition(Program& golden, Program& actual) {
  const Said again{.phase = model::Phase::backward, .source = "train.py"};
  for (Program* run : {&golden, &actual})
    run->logged("Default/d-Dropout/bernoulli_-op0", {{0, 0, 0}}, {{1, 0, 1}}, {.source = "train.py"});
  actual.logged("Gradients/Default/AccumulateGrad/bernoulli_-op0", {{0, 0, 0}}, {{0, 1, 0}}, again);
  golden.logged("Gradients/Default/fc-Linear/mul-op0", {{1, 0, 1}}, {{2, 0, 5}}, again);
  actual.logged("Gradients/Default/fc-Linear/mul-op0", {{0, 1, 0}}, {{0, 3, 0}}, again);
}

void fill_dropout(Program& golden, Program& actual) {
  for (Program* run : {&golden, &actual}) run->logged("Default/sin-op0", {{1, 2}}, {{1, 2}});
  golden.logged("Default/d-Dropout/bernoulli_-op0", {{0, 0}}, {{1, 0}}, {.arguments = R"({"p":0.75})"});
  actual.logged("Default/d-Dropout/native_dropout-op0", {{1, 2}}, {{0, 4}}, {.arguments = R"({"p":0.5})"});
  golden.logged("Default/cos-op0", {{1, 0}}, {{2, 3}});
  actual.logged("Default/cos-op0", {{0, 4}}, {{5, 6}});
}

void fill_size(Program& golden, Program& actual) {
  const auto fill = [](Program& run, const std::vector<float>& words, const std::string& end,
                       const std::vector<float>& places, const std::vector<float>& sum) {
    run.logged("Default/arange-op0", {}, {places}, {.arguments = R"({"end":)" + end + "}"})
        .logged("Default/add-op0", {words, places}, {sum});
  };
  golden.logged("Default/sin-op0", {{1, 2}}, {{5, 6}});
  actual.logged("Default/sin-op0", {{1, 2}}, {{5, 6}}).logged("Default/pad-op0", {{5, 6}}, {{5, 6, 9}});
  fill(golden, {5, 6}, "2", {0, 1}, {5, 7});
  fill(actual, {5, 6, 9}, "3", {0, 1, 2}, {5, 7, 11});
}

void fill_changed(Program& golden, Program& actual) {
  golden.op("add.a", {{1, 2}}, {{4, 6}}).op("tan.b", {{4, 6}}, {{4, 6}});
  actual.op("add.a", {{1, 2}}, {{4, 6}}).op("tan.b", {{4, 9}}, {{4, 9}});
}

void fill_view(Program& golden, Program& actual) {
  const auto fill = [](Program& run, const std::string& index, float number) {
    const std::string view = "Default/select-op0";
    run.logged("Default/sin-op0", {{1, 2}}, {{5, 6, 7, 8}})
        .say(view, {.arguments = R"({"self":{"tensor":0},"index":)" + index + "}"})
        .undumped(view, model::Side::input, "view")
        .undumped(view, model::Side::output, "view")
        .logged("Default/mm-op0", {{number, 2}}, {{number, 3}});
  };
  fill(golden, "0", 5);
  fill(actual, "1", 7);
}

void fill_environment(Program& golden, Program& actual) {
  golden.op("exp.a", {{1, 2}}, {{1, 2}}).status("torch 2.6", {{"machine", "x86_64"}});
  actual.op("exp.a", {{1, 2}}, {{1, 2.0001F}}).status("torch 2.6", {{"machine", "aarch64"}});
}

// ---- Models of ONNX, and what an engine makes of them.

void fill_optional(Program& golden, Program& actual) {
  const Said said{.function = "onnx::Dropout"};
  golden.logged("Dropout-d", {{1, 2}}, {{1, 2}, {1, 1}}, said);
  actual.logged("Dropout-d", {{1, 2}}, {{1, 2}}, said);
}

void fill_transposed(Program& golden, Program& actual) {
  golden.say("Shape-s").places("Shape.Shape-s.output.0", {1, 2}).dump();
  golden.dump().tensor("Shape.Shape-s.input.0", {1, 2}, "(1, 2)");
  actual.say("Shape-s", {.originals = {{"Shape-s"}}}).places("Shape.Shape-s.output.0", {2, 1});
  actual.dump().tensor("Shape.Shape-s.input.0", {1, 2}, "(2, 1)");
}

void fill_fused(Program& golden, Program& actual) {
  golden.logged("MatMul-m", {{1, 2}, {3, 4}}, {{5, 6}}).logged("Add-a", {{5, 6}, {7, 8}}, {{12, 14}});
  actual.logged("Gemm-g", {{1, 2}, {3, 4}, {7, 8}}, {{12, 14.0003F}}, {.originals = {{"MatMul-m", "Add-a"}}});
}

void fill_other_axis(Program& golden, Program& actual) {
  golden.logged("Sum-s", {{1, 2}}, {{3, 4}}).places("Sum.Sum-s.input.1", {0});
  actual.logged("Sum-s", {{1, 2}}, {{3, 5}}, {.originals = {{"Sum-s"}}}).places("Sum.Sum-s.input.1", {1});
}

void fill_added_input(Program& golden, Program& actual) {
  golden.logged("Conv-c", {{1, 2}}, {});
  actual.logged("Conv-c", {{1, 2}, {3, 4}}, {}, {.originals = {{"Conv-c"}}});
}

// What one reads as terms, the other one reads as their sum.
void fill_terms(Program& golden, Program& actual) {
  golden.op("LayerNormalization.n", {{3, 5}}, {{-1, 1}});
  actual.op("SkipLayerNormalization.n", {{1, 1}}, {{-1, 1}});
}

void fill_quantised(Program& golden, Program& actual) {
  golden.op("Mul.a", {{1, -1, 3}}, {{1.2F, -1.2F, 3.6F}});
  golden.op("Relu.b", {{1.2F, -1.2F, 3.6F}}, {{1.2F, 0, 3.6F}})
      .op("Mul.c", {{1.2F, 0, 3.6F}}, {{2.4F, 0, 7.2F}});
  actual.op("Mul.a", {{1, -1, 3}}, {{1.2F, -1.2F, 3.6F}});
  actual.op("QuantizeLinear.q", {{1.2F, -1.2F, 3.6F}, {0.5F}}, {});
  actual.dump().raw("QuantizeLinear.q.output.0", "|u1", "(3,)", "\2\1\7", "uint8");
  actual.dump().raw("DequantizeLinear.d.input.0", "|u1", "(3,)", "\2\1\7", "uint8");
  actual.dump().tensor("DequantizeLinear.d.input.1", {0.5F});
  actual.op("DequantizeLinear.d", {}, {{1, 0, 3.5F}}).op("Mul.c", {{1, 0, 3.5F}}, {{2, 0, 7}});
}

void fill_frameworks(Program& golden, Program& actual) {
  golden.logged("Default/fc-Linear/mul-op0", {{1, 2}, {3, 4}}, {{3, 8}}).status("torch 2.6");
  actual.logged("Default/fc-Dense/Mul-op0", {{1, 2}, {3, 4}, {5, 5, 5}}, {{3, 8}}).status("mindspore 2.3");
}

// Between pairs that are sure, something of one kind that reads something else in each run.
void fill_weak_pair(Program& golden, Program& actual) {
  const std::vector<float> a{1, 2, 3, 4, 5, 6, 7, 9}, b{2, 7, 1, 8, 2, 8, 1, 9}, c{3, 1, 4, 1, 5, 9, 2, 7},
      d{1, 4, 1, 4, 2, 1, 3, 6}, e{5, 7, 7, 2, 1, 5, 6, 7}, f{6, 9, 3, 1, 4, 7, 1, 9};
  golden.logged("Default/exp-op0", {a}, {b}).logged("Default/neg-op0", {c}, {d}).status("torch 2.6");
  golden.logged("Default/log-op0", {b}, {a});
  actual.logged("Default/Exp-op0", {a}, {b}).logged("Default/Neg-op0", {e}, {f}).status("mindspore 2.3");
  actual.logged("Default/Log-op0", {b}, {a});
}

// What is perhaps the same hands its difference to what certainly is.
void fill_uncertain(Program& golden, Program& actual) {
  const std::vector<float> a{1, 2, 3, 4, 5, 6, 7, 9}, b{2, 7, 1, 8, 2, 8, 1, 9}, c{3, 1, 4, 1, 5, 9, 2, 7},
      d{1, 4, 1, 4, 2, 1, 3, 6}, e{5, 7, 7, 2, 1, 5, 6, 7}, f{6, 9, 3, 1, 4, 7, 1, 9},
      w{2, 2, 3, 6, 0, 6, 7, 9}, g{4, 6, 6, 9, 2, 0, 1, 6}, h{8, 3, 1, 4, 4, 7, 2, 9};
  golden.logged("Default/exp-op0", {a}, {b}).logged("Default/neg-op0", {c}, {d}).status("torch 2.6");
  golden.logged("Default/mm-op0", {d, w}, {g});
  actual.logged("Default/Exp-op0", {a}, {b}).logged("Default/Neg-op0", {e}, {f}).status("mindspore 2.3");
  actual.logged("Default/MatMul-op0", {f, w}, {h});
}

// One framework computes the mask when it compiles the graph.
void fill_folded(Program& golden, Program& actual) {
  const std::vector<float> a{1, 2, 3, 4, 5, 6, 7, 9}, b{2, 7, 1, 8, 2, 8, 1, 9}, mask{0, 1, 0, 1, 1, 0, 1, 0},
      c{0, -2, 0, -2, -2, 0, -2, 0}, d{2, 5, 1, 6, 0, 8, -1, 9}, e{0, -9, 0, -9, -9, 0, -9, 0},
      f{2, -2, 1, -1, -7, 8, -8, 9};
  golden.logged("Default/exp-op0", {a}, {b}).logged("Default/mul-op0", {mask, {-2}}, {c}).status("torch 2.6");
  golden.logged("Default/add-op0", {b, c}, {d});
  actual.logged("Default/Exp-op0", {a}, {b}).logged("Default/Add-op0", {b, e}, {f}).status("mindspore 2.3");
}

void fill_region(Program& golden, Program& actual) {
  golden.logged("Default/exp-op0", {{1, 2}}, {{3, 7}}).logged("Default/tan-op0", {{3, 7}}, {{1, 4}});
  actual.logged("Default/compiled_0-op0", {{1, 2}}, {{3, 9}}).logged("Default/tan-op0", {{3, 9}}, {{1, 5}});
}

// Actual doubles its data, and halves what it makes of it.
void fill_doubled(Program& golden, Program& actual) {
  using Input = dump::CallWiring::Input;
  const auto add = [](Program& run, const std::string& name, const std::vector<float>& read,
                      const std::vector<float>& made, const std::string& maker) {
    run.logged(name, {read}, {made})
        .wired(name, {maker.empty() ? Input{.is_outside = true} : Input{.maker = {{.name = maker}}}});
  };
  add(golden, "Default/exp-op0", {1, 2, 3}, {4, 5, 6}, "");
  add(golden, "Default/tan-op0", {4, 5, 6}, {7, 8, 9}, "Default/exp-op0");
  add(actual, "Default/mul-op0", {1, 2, 3}, {2, 4, 6}, "");
  add(actual, "Default/exp-op0", {2, 4, 6}, {8, 10, 12}, "Default/mul-op0");
  add(actual, "Default/mul-op1", {8, 10, 12}, {4, 5, 6}, "Default/exp-op0");
  add(actual, "Default/tan-op0", {4, 5, 6}, {7, 8, 9}, "Default/mul-op1");
}

// Actual turns its data round, and computes something else of it.
void fill_turned(Program& golden, Program& actual) {
  golden.logged("Default/sin-op0", {{1, 2, 3}}, {{4, 5, 6}})
      .logged("Default/tan-op0", {{4, 5, 6}}, {{7, 8, 9}})
      .logged("Default/fc-Linear/mm-op0", {{7, 8, 9}}, {{1, 5, 2}});
  actual.logged("Default/flip-op0", {{1, 2, 3}}, {{3, 2, 1}})
      .logged("Default/sin-op0", {{3, 2, 1}}, {{6, 5, 4}})
      .logged("Default/tan-op0", {{6, 5, 4}}, {{7, 8, 1}})
      .logged("Default/fc-Linear/mm-op0", {{7, 8, 1}}, {{1, 5, 9}});
}

// An example shows what the answer says with a rule, and what it says without it.
struct Example {
  std::string_view rule;
  void (*fill)(Program& golden, Program& actual) = nullptr;
  std::string_view with, without;
};

constexpr Example kExamples[] = {
    {"overwritten", fill_overwritten, "row a match", "row a input_differs"},
    {"not-logged", fill_log, "answer same", "answer incomplete"},
    {"silent-dump", fill_silent_dump, "row a-op0 match", "row a-op0 not_comparable"},
    {"unfinished-recording", fill_unfinished, "answer incomplete", "answer differs"},
    {"filtered", fill_filtered, "answer same", "answer differs"},
    {"other-rows", fill_batch, "answer same", "answer differs"},
    {"resumed-run", fill_resumed, "answer same", "answer differs"},
    {"never-read", fill_never_read, "answer same", "answer differs"},
    {"other-argument", fill_argument, "eps is 1 in golden and 2 in actual", "_norm-op0 own_error\n"},
    {"rounding", fill_grown, "row b rounding", "row b own_error"},
    {"grown-rounding", fill_grown, "row b rounding", "row b own_error"},
    {"lost-among-others", fill_lost, "row a rounding", "row a input_differs"},
    {"other-choice", fill_choice, "row b_argmax-op0 rounding", "row b_argmax-op0 own_error"},
    {"recomputed", fill_mask, "threshold_backward-op0 rounding", "threshold_backward-op0 own_error"},
    {"known-rounding", fill_mask, "row c rounding", "row c inherited"},
    {"followed-rounding", fill_followed, "row Default_add_-op0 rounding", "row Default_add_-op0 inherited"},
    {"cancelled-terms", fill_cancelled, "row a rounding", "row a own_error"},
    {"matrix-units", fill_units, "row Default_mm-op0 match", "row Default_mm-op0 own_error"},
    {"masked-numbers", fill_masks, "answer same", "answer differs"},
    {"usual-gains", fill_outputs, "row b rounding", "row b own_error"},
    {"other-state", fill_state, "the seed is 1 in golden and 2 in actual", "Default_rand-op0 own_error\n"},
    {"other-way", fill_sums, "answer same", "answer differs"},
    {"other-inside", fill_doubled, "answer same", "answer differs"},
    {"loose-pairs", fill_resized, "answer same", "answer differs"},
    {"results-elsewhere", fill_elsewhere, "answer same", "answer differs"},
    {"lacking-statistics", fill_lacking, "answer same", "answer differs"},
    {"first-difference", fill_difference, "answer differs", "answer same"},
    {"single-before-growth", fill_single, "first x", "first b"},
    {"missing-gradient", fill_gradient, "no gradient reaches it in actual", "mm-op0 missing\n"},
    {"other-repetition", fill_repetition,
     "draws other numbers than Default/d-Dropout/bernoulli_-op0, which it repeats",
     "only in actual, and Gradients/Default/fc-Linear/mul-op0"},
    {"other-dropout", fill_dropout, "dropout p is 0.25 in golden and 0.5 in actual",
     "only in actual, and Default/cos-op0"},
    {"unread-draw", fill_order, "first Default_randperm-op0", "first Default_cos-op0"},
    {"other-size", fill_size, "first Default_pad-op0", "first Default_arange-op0"},
    {"end-of-part", fill_turned, "first Default_tan-op0", "first Default_sin-op0"},
    {"first-uncertain", fill_uncertain, "first Default_neg-op0", "first Default_mm-op0"},
    {"input-origin", fill_changed, "input.0 was changed in memory after a had made it",
     "first b inherited\n"},
    {"folded-operator", fill_folded,
     "first Default_mul-op0 missing: only in golden, where Default/add-op0 reads it: a constant in actual; "
     "input.1 is -2",
     "first Default_add-op0 inherited"},
    {"same-results", fill_same_results, "answer same", "answer differs"},
    {"where-values-part", fill_parting, "golden computes norm here, actual sub, and nothing",
     "answer differs"},
    {"other-view", fill_view, "view Default/select-op0 has other arguments: index is 0", "view \n"},
    {"relation", fill_difference, "actual is 2 × golden in all elements", "slot output.0 \n"},
    {"optional-output", fill_optional, "row Dropout-d match", "row Dropout-d not_comparable"},
    {"other-layout", fill_transposed, "row Shape-s skipped", "row Shape-s own_error"},
    {"operator-left-out", fill_fused, "row MatMul-m skipped", "row MatMul-m missing"},
    {"other-kernel", fill_fused, "answer same", "answer differs"},
    {"rewritten-number", fill_other_axis, "row Sum-s own_error", "row Sum-s inherited"},
    {"added-input", fill_added_input, "answer same", "answer incomplete"},
    {"same-of-other-inputs", fill_terms, "row n match", "row n input_differs"},
    {"quantised-steps", fill_quantised, "answer same", "answer differs"},
    {"other-framework", fill_frameworks, "answer same", "answer incomplete"},
    {"weak-pair", fill_weak_pair, "row Default_neg-op0 uncertain", "row Default_neg-op0 inherited"},
    {"scaled-gradients", fill_scaled, "answer same", "answer differs"},
    {"pair-by-place", fill_handed, "answer incomplete", "answer differs"},
    {"wrong-region", fill_region, "a compiled region with a result that golden lacks",
     "first Default_tan-op0"},
    {"other-rank", fill_ranks, "first e", "first r"},
    {"fed-by-other-rank", fill_ranks, "the inputs of rank 1 differ", "row r inherited\n"},
    {"shard-left-out", fill_shards, "all_reduce-op0 skipped", "all_reduce-op0 own_error"},
    {"not-on-all-ranks", fill_shards, "mm-op0 match", "mm-op0 unreadable"},
    {"terms-of-a-sum", fill_no_reduction, "a reduction is missing before it",
     "row Default_exp-op0 own_error\n"},
    {"own-rows", fill_rows, "answer same", "answer differs"},
    {"own-places", fill_places, "answer same", "answer differs"},
    {"small-error", fill_environment, "opdump blame runs it again", "row a own_error"},
};

class RuleTest : public CompareTest, public ::testing::WithParamInterface<Example> {
 protected:
  std::string answer(const std::string& without = {}) {
    CompareOptions options;
    options.finds_rows = true;
    if (!without.empty()) options.without.insert(without);
    const Comparison& c = compare(options);
    std::string text = "answer " + std::string(kOutcomeNames[static_cast<std::size_t>(c.outcome)]) + "\n";
    for (const OperatorComparison& op : operators_) text += "row " + describe(op);
    if (c.first_bad) {
      text += "first " + describe(*c.first_bad) + "view " + c.view_before_first_bad + "\n";
      for (const SlotComparison& slot : c.first_bad->slots)
        text += "slot " + slot_name(slot) + " " + slot.reason + "\n";
    }
    for (const Note& note : c.notes) text += "note " + note.text + "\n";
    return text;
  }
  static std::string describe(const OperatorComparison& op) {
    return op.run().name + " " + std::string(verdict_name(op.verdict)) +
           (op.cause.empty() ? "" : ": " + op.cause) + "\n";
  }
  // Whether what was compared last says that the rule decided it.
  bool is_named(std::string_view rule) const {
    const auto names_it = [&](const auto& said) { return said.rule == rule; };
    const auto is_row = [&](const OperatorComparison& op) {
      return names_it(op) || std::ranges::any_of(op.slots, names_it);
    };
    return std::ranges::any_of(operators_, is_row) || std::ranges::any_of(comparison_.notes, names_it) ||
           (comparison_.first_bad && is_row(*comparison_.first_bad)) ||
           std::ranges::any_of(comparison_.accusations, names_it);
  }
};

// What these say goes by another name, that of a reason for rounding or of what the collective got; or
// tensors are equal by a tolerance that it allows; or it is said of the first bad operator in words alone.
constexpr std::string_view kNameless[] = {"rounding", "matrix-units", "other-rank", "other-view", "relation"};

TEST_P(RuleTest, DecidesItsExample) {
  const Example& example = GetParam();
  Program golden(*golden_), actual(*actual_);
  example.fill(golden, actual);
  const std::string with = answer();
  const bool is_named_with = is_named(example.rule);
  const std::string without = answer(std::string(example.rule));
  const std::string said(example.with), otherwise(example.without);
  EXPECT_THAT(with, HasSubstr(said));
  EXPECT_THAT(without, HasSubstr(otherwise));
  EXPECT_THAT(without, Not(HasSubstr(said)));
  EXPECT_NE(is_named_with, std::ranges::count(kNameless, example.rule) > 0);
  EXPECT_FALSE(is_named(example.rule));
}

TEST_F(CompareTest, AGradientUnderAnotherNameIsNotMissing) {
  Program golden(*golden_), actual(*actual_);
  fill_repeated_pass(golden, actual);
  for (const Accusation& accusation : compare().accusations) EXPECT_NE(accusation.rule, "missing-gradient");
}

TEST(RulesTest, EveryRuleHasAnExample) {
  for (const Rule* rule : rules())
    EXPECT_EQ(std::ranges::count(kExamples, rule->name, &Example::rule), 1) << rule->name;
  for (const Example& example : kExamples) EXPECT_NE(find_rule(example.rule), nullptr) << example.rule;
}

INSTANTIATE_TEST_SUITE_P(All, RuleTest, ::testing::ValuesIn(kExamples), [](const auto& info) {
  std::string name(info.param.rule);
  std::ranges::replace(name, '-', '_');
  return name;
});

}  // namespace
}  // namespace opdump::compare
