// Sums of sorted lists by bucket, in equal chunks: no list stalls another, however long it is.
//
// A chunk's owner adds the points of each bucket in it. A bucket that begins and ends in the chunk is done. The sums
// of the first and the last bucket, if they reach past the chunk, go to a list of partial sums, two a chunk and again
// sorted, which is treated in the same way until one chunk is left.
#pragma once
#include "../ec/points.cuh"
#include "entry.cuh"

namespace cuzk {

// The part of a sorted list that one thread adds up.
struct Chunk {
    uint32_t begin, end, count;

    static CUZK_FN Chunk at(uint32_t index, uint32_t length, uint32_t count) {
        uint64_t begin = (uint64_t)index * length, end = begin + length;
        Chunk chunk = {(uint32_t)(begin < count ? begin : count), (uint32_t)(end < count ? end : count), count};
        return chunk;
    }
    CUZK_FN bool is_empty() const { return begin == end; }
};

// Source: uint32_t bucket(i), void add_to(sum, i). Sink: void done(bucket, sum), void partial(which, bucket, sum)
// with which = 0 for the chunk's head and 1 for its tail, both called once a chunk.
template <class F, class Source, class Sink>
CUZK_FN void add_chunk(const Chunk &chunk, const Source &source, Sink &sink) {
    uint32_t bucket = source.bucket(chunk.begin);
    bool from_before = chunk.begin > 0 && source.bucket(chunk.begin - 1) == bucket, head_written = false;
    if (!from_before) {
        sink.partial(0, bucket, Xyzz<F>::infinity());
        head_written = true;
    }
    Xyzz<F> sum = Xyzz<F>::infinity();
    for (uint32_t i = chunk.begin; i < chunk.end; i++) {
        uint32_t next = source.bucket(i);
        if (next != bucket) {
            if (head_written) {
                sink.done(bucket, sum);
            } else {
                sink.partial(0, bucket, sum);
                head_written = true;
            }
            sum = Xyzz<F>::infinity();
            bucket = next;
        }
        source.add_to(sum, i);
    }
    bool goes_on = chunk.end < chunk.count && source.bucket(chunk.end) == bucket;
    if (!head_written) {
        // One bucket from end to end.
        sink.partial(0, bucket, sum);
        sink.partial(1, bucket, Xyzz<F>::infinity());
    } else if (goes_on) {
        sink.partial(1, bucket, sum);
    } else {
        sink.done(bucket, sum);
        sink.partial(1, bucket, Xyzz<F>::infinity());
    }
}

} // namespace cuzk
