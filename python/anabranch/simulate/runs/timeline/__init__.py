"""Timeline of a run as a trace of Perfetto, in its protobuf format (TrackEvent).

Times are nanoseconds, rounded from the run's; arguments of slices have them in full.
"""
