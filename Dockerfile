# Sourcebook with its models in one image: `docker build -t sourcebook .`
# What it needs at run time is in it; nothing is fetched then. See docs/deploy.md.

FROM python:3.11.14-slim-bookworm AS build
WORKDIR /build
RUN python -m venv /opt/sourcebook
ENV PATH=/opt/sourcebook/bin:$PATH \
    SOURCEBOOK_MODELS=/opt/sourcebook/models
COPY pyproject.toml constraints.txt README.md LICENSE ./
COPY src ./src
RUN pip install --no-cache-dir --disable-pip-version-check -c constraints.txt '.[postgres]' \
    && sourcebook model install

FROM python:3.11.14-slim-bookworm
RUN groupadd --gid 10001 sourcebook \
    && useradd --uid 10001 --gid 10001 --no-create-home --home-dir /data --shell /usr/sbin/nologin sourcebook \
    && install --directory --owner=10001 --group=10001 --mode=0700 /data
COPY --from=build /opt/sourcebook /opt/sourcebook
ENV PATH=/opt/sourcebook/bin:$PATH \
    PYTHONDONTWRITEBYTECODE=1 \
    PYTHONUNBUFFERED=1 \
    SOURCEBOOK_MODELS=/opt/sourcebook/models \
    SOURCEBOOK_STORE=sqlite:////data/sourcebook.db
# Only /data and /tmp are written to, so the rest may be mounted read-only. A sourcebook.toml lies in /data.
WORKDIR /data
VOLUME ["/data"]
USER 10001:10001
EXPOSE 8080 50051
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=15s --timeout=5s --start-period=60s --retries=3 \
    CMD ["python", "-c", "import urllib.request as web; web.urlopen('http://127.0.0.1:8080/health', timeout=4)"]
ENTRYPOINT ["sourcebook"]
# Others than the container itself can ask, so there must be a key: `docker run … keys create NAME`.
CMD ["serve", "--host", "0.0.0.0"]
