// A libtorch training program that knows nothing of opdump: two linear layers, SGD, and a thread that watches
// the first weights.
#include "train.h"

#include <torch/nn/modules/linear.h>
#include <torch/optim/sgd.h>
#include <torch/types.h>
#include <torch/utils.h>

#include <cstdio>
#include <cstdlib>
#include <thread>

namespace {

struct Net : torch::nn::Module {
  torch::nn::Linear first{nullptr}, second{nullptr};

  Net() {
    first = register_module("first", torch::nn::Linear(4, 8));
    second = register_module("second", torch::nn::Linear(8, 2));
  }

  torch::Tensor forward(const torch::Tensor& x, const Listener& listener) {
    if (listener.enter) listener.enter("first-Linear");
    torch::Tensor y = torch::tanh(first->forward(x));
    if (listener.leave) listener.leave();
    if (listener.enter) listener.enter("second-Linear");
    y = second->forward(y);
    if (listener.leave) listener.leave();
    return y;
  }
};

}  // namespace

int train(int argc, char** argv, const Listener& listener) {
  torch::manual_seed(0);
  Net net;
  torch::optim::SGD optimizer(net.parameters(), torch::optim::SGDOptions(0.1).momentum(0.9));
  const torch::Tensor x = torch::randn({16, 4});
  const torch::Tensor target = torch::randn({16, 2});
  for (int step = 0; step < 3; ++step) {
    optimizer.zero_grad();
    const torch::Tensor loss = torch::mse_loss(net.forward(x, listener), target);
    loss.backward();
    optimizer.step();
    std::printf("%a\n", loss.item<double>());
    double size = 0;
    std::thread watcher([&] {
      const torch::NoGradGuard guard;
      size = net.first->weight.erf().sum().item<double>();
    });
    watcher.join();
    std::printf("%a\n", size);
    if (listener.end_of_step) listener.end_of_step();
  }
  return argc > 1 ? std::atoi(argv[1]) : 0;
}
