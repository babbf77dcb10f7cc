# One image for both sides. The holder alone needs only the base install: `--build-arg EXTRAS=`.
FROM python:3.11-slim
ARG EXTRAS=[demo,postgres]
ENV PIP_NO_CACHE_DIR=1 PYTHONUNBUFFERED=1 PYTHONDONTWRITEBYTECODE=1

WORKDIR /app
COPY pyproject.toml constraints.txt README.md LICENSE ./
RUN mkdir privet && touch privet/__init__.py \
    && pip install --quiet --constraint constraints.txt --editable ".${EXTRAS}"
COPY privet privet
COPY protocol protocol
COPY page page
COPY transport transport
COPY client client
COPY relay relay
COPY curator curator
COPY baselines baselines
COPY scripts scripts

RUN useradd --create-home --uid 1000 privet \
    && install -d -o privet -g privet /data /shards
USER privet
VOLUME /data
EXPOSE 8000
HEALTHCHECK --interval=5s --timeout=3s --start-period=20s --retries=5 \
    CMD ["python", "-c", "import urllib.request as u; u.urlopen('http://127.0.0.1:8000/readyz', timeout=2)"]
CMD ["privet", "serve", "--host", "0.0.0.0", "--port", "8000"]
