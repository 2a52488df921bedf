// sppark's forward transform of values that lie in the device's memory, timed by events.
#include <ff/bls12-381.hpp>
#include <ntt/ntt.cuh>

#ifndef __CUDA_ARCH__
// Transforms `values`, natural order in and out, and measures `repeats` more transforms: with `natural` in natural order,
// else into bit-reversed order. The times are milliseconds.
extern "C" int peer_ntt(fr_t* values, uint32_t log_size, bool natural, float* times, size_t repeats)
{
    try {
        auto& gpu = select_gpu();
        gpu.select();
        size_t size = (size_t)1 << log_size;
        dev_ptr_t<fr_t> data{size, gpu};
        stream_t& stream = gpu;
        gpu.HtoD(&data[0], values, size);
        auto transform = [&](NTT::InputOutputOrder order) {
            NTT::Base_dev_ptr(stream, &data[0], log_size, order, NTT::Direction::forward, NTT::Type::standard);
        };
        transform(NTT::InputOutputOrder::NN);
        gpu.DtoH(values, &data[0], size);
        gpu.sync();
        auto order = natural ? NTT::InputOutputOrder::NN : NTT::InputOutputOrder::NR;
        transform(order);
        cudaEvent_t start, stop;
        CUDA_OK(cudaEventCreate(&start));
        CUDA_OK(cudaEventCreate(&stop));
        for (size_t i = 0; i < repeats; i++) {
            CUDA_OK(cudaEventRecord(start, stream));
            transform(order);
            CUDA_OK(cudaEventRecord(stop, stream));
            CUDA_OK(cudaEventSynchronize(stop));
            CUDA_OK(cudaEventElapsedTime(&times[i], start, stop));
        }
        CUDA_OK(cudaEventDestroy(start));
        CUDA_OK(cudaEventDestroy(stop));
        return 0;
    } catch (const cuda_error& error) {
        return error.code();
    }
}
#endif
