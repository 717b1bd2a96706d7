#include "train.h"

int main(int argc, char** argv) { return train(argc, argv, {}); }
