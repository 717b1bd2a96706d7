// The same training, telling opdump where it is.
#include <opdump/opdump_torch.h>

#include "train.h"

int main(int argc, char** argv) {
  return train(argc, argv, {opdump_torch_push, opdump_torch_pop, opdump_torch_step});
}
